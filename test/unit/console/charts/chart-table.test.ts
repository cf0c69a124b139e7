import { expect, it, vi } from 'vitest';

it('a value that is not known is sorted below every known one in the table of a chart, also below negative ones', async () => {
  vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => undefined });
  const { ChartTable } = await import('../../../../console/src/charts/chart.tsx');
  const values = [-5, null, 3];
  const series = [{ key: 'a', label: 'a', mark: 0, values }];
  const table = ChartTable({ name: 'chart', title: 'Chart', times: [0, 60, 120], series, text: String });
  const { rows, columns } = table.props;
  expect(
    rows.toSorted((left: object, right: object) => columns[1].sortBy(left) - columns[1].sortBy(right)),
  ).toEqual([
    { at: 60, index: 1 },
    { at: 0, index: 0 },
    { at: 120, index: 2 },
  ]);
});
