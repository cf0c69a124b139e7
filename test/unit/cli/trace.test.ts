import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { barOf, inTree, lineOf, waterfallWidths } from '../../../src/cli/trace.ts';
import { columnsFor } from '../../../src/cli/width.ts';
import { always } from '../../support/properties.ts';

const span = (span_id: string, parent_span_id: string) => ({ span_id, parent_span_id });
const shown = (spans: readonly ReturnType<typeof span>[]) =>
  inTree(spans).map(({ span: { span_id: id }, depth }) => `${'.'.repeat(depth)}${id}`);

describe('the tree of a trace', () => {
  it('has each span behind its parent, and a span without a known parent as a root', () => {
    const spans = [span('a', ''), span('b', 'a'), span('c', 'lost'), span('d', 'a'), span('e', 'b')];
    expect(shown(spans)).toEqual(['a', '.b', '..e', '.d', 'c']);
  });

  it('has every span once, also in rings and with ids that repeat', () => {
    const id = fc.constantFrom('', 'a', 'b', 'c', '__proto__');
    always(
      fc.property(fc.array(fc.tuple(id, id), { maxLength: 12 }), (ids) => {
        const spans = ids.map(([own, parent]) => span(own, parent));
        const placed = inTree(spans).map((each) => each.span);
        expect(placed).toHaveLength(spans.length);
        expect(new Set(placed)).toEqual(new Set(spans));
      }),
    );
  });

  it('is as deep as its chain', () => {
    const chain = Array.from({ length: 10_000 }, (_, index) => span(`s${index}`, `s${index - 1}`));
    expect(inTree(chain).at(-1)?.depth).toBe(9_999);
  });
});

describe('the bar of a span', () => {
  it('lies where the span lies, at least one mark wide, and never leaves its place', () => {
    expect(barOf(0, 100, 100)).toBe('█'.repeat(32));
    expect(barOf(50, 25, 100)).toBe(`${'·'.repeat(16)}${'█'.repeat(8)}${'·'.repeat(8)}`);
    for (const [offset, duration, whole] of [
      [100, 0, 100],
      [-5, 1, 100],
      [0, 0, 0],
      [5, 900, 10],
    ] as const)
      expect(barOf(offset, duration, whole)).toMatch(/^(?=.{32}$)·*█+·*$/);
  });
});

describe('the line of a span', () => {
  const placed = {
    depth: 1,
    span: {
      ...{
        span_id: 'eee19b7ec3c1b174',
        parent_span_id: '',
        service: '支付 服务',
        name: 'POST /a/long/path/of/a/request',
      },
      ...{ status: 'Error', offset_ns: 0, duration_ns: 5_000_000, attributes: [] },
      ...{
        kind: 'Server',
        app_id: 1,
        status_message: '',
        trace_state: '',
        resource: 0,
        events: [],
        links: [],
      },
      scope: { name: '', version: '' },
    },
  };

  it.each([60, 80, 100, 132])('is as wide as a terminal of %i columns, or less', (columns) => {
    const line = lineOf(placed, 5_000_000, columns);
    expect(columnsFor(line)).toBeLessThanOrEqual(columns);
    expect(line).toMatch(/^█{8,32} +5\.00 ms .*! 支付.*eee19b7ec3c1b174$/);
  });

  it('has the whole name where a program reads it', () => {
    expect(lineOf(placed, 5_000_000, Number.POSITIVE_INFINITY)).toContain(
      '! 支付 服务 POST /a/long/path/of/a/request ',
    );
    expect(waterfallWidths(Number.POSITIVE_INFINITY)).toEqual({ bar: 32, name: 48 });
  });
});
