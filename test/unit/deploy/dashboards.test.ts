import { describe, expect, it } from 'vitest';
import { dashboards } from '../../support/deploy/dashboards.ts';

// A service and a metric of OpenTelemetry have any name that a sender gives; names in QuestDB have letters, digits and `_` alone.
const source = 'grafana-clickhouse-datasource';

const uses = [...dashboards()].flatMap(([file, { templating, panels }]) => {
  const variables = templating.list.filter(({ datasource }) => datasource.type === source);
  const texts = panels.flatMap(({ title, targets }) =>
    targets.map(({ rawSql = '' }) => ({ place: `${file}: ${title}`, text: rawSql })),
  );
  return texts.flatMap(({ place, text }) =>
    variables
      .filter(({ name }) => new RegExp(`\\$\\{?${name}\\b`).test(text))
      .map(({ name, query }) => ({ place, name, query, text })),
  );
});

describe('a name that a sender chose', () => {
  it('is in queries of panels', () => {
    expect(uses.length).toBeGreaterThan(5);
  });

  // A name with an apostrophe would end the text around it, and what follows would run as SQL of the viewer.
  it.each(uses)('comes to $place as hex digits: $name', ({ name, query, text }) => {
    expect(query).toMatch(/^SELECT (?:DISTINCT )?hex\(/);
    const rest = text.replaceAll(`unhex('\${${name}:raw}')`, '');
    expect(rest).not.toMatch(new RegExp(`\\$\\{?${name}\\b`));
  });
});
