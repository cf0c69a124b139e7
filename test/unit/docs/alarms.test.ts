import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { definedMetrics, roles } from '../../../tools/docs/metrics.ts';
import { alarmCases, alarms, dashboards, queriesTo } from '../../support/deploy/dashboards.ts';

const root = join(import.meta.dirname, '../../..');
const docs = join(root, 'docs');

const knownNames = async (): Promise<Set<string>> => {
  const defined = (await Promise.all(roles.map(definedMetrics))).flat();
  return new Set(
    defined.flatMap(({ name, kind }) =>
      kind === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
};

const namesIn = (expression: string): string[] =>
  expression.match(/\b(?:tidemark|process|nodejs)_[a-z0-9_]+/g) ?? [];

describe('the alarms', () => {
  // An alarm that watches less than its entry says is trusted where it is silent.
  it('of an engine that is gone names in its entry the engines that are scraped', () => {
    const scraped = (path: string): string => {
      const text = readFileSync(join(root, 'deploy', path), 'utf8');
      const isJob = (engine: string) => new RegExp(`(?:job_name|replacement): ${engine}\\b`, 'i').test(text);
      return ['QuestDB', 'ClickHouse', 'NATS'].filter(isJob).join(' and ');
    };
    const [, entry = ''] = readFileSync(join(docs, 'runbook.md'), 'utf8').split('### TidemarkEngineGone\n');
    expect(entry.split('\n### ')[0]).toContain(
      `${scraped('prometheus/prometheus.yaml')} in compose, ${scraped('kubernetes/base/monitors.yaml')} in Kubernetes`,
    );
  });

  // Who is woken must find what to do, and nothing that no longer exists.
  it('each have an entry in the runbook, in the same order, with symptoms and remedy', () => {
    const text = readFileSync(join(docs, 'runbook.md'), 'utf8');
    const entries = text
      .split(/^### /m)
      .slice(1)
      .map((entry) => ({ name: entry.slice(0, entry.indexOf('\n')), body: entry }));
    expect(entries.map(({ name }) => name)).toEqual(alarms().map(({ alert }) => alert));
    const parts = ['**Meaning.**', '**How to see it.**', '**What to do.**'];
    expect(entries.filter(({ body }) => !parts.every((part) => body.includes(part)))).toEqual([]);
    for (const { alert, labels, annotations } of alarms()) {
      const body = entries.find(({ name }) => name === alert)?.body;
      expect(annotations.runbook).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
      // A label stands in the runbook by its name.
      const summary = annotations.summary.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '`$1`');
      expect(body).toContain(`*${labels.severity}* — ${summary}.`);
    }
  });

  it('each have cases that fire and, but for the one that always fires, cases that do not', () => {
    const cases = new Set(alarmCases().map(({ alarm, fires }) => `${alarm} ${fires}`));
    const wanted = alarms().flatMap(({ alert }) => [`${alert} true`, `${alert} false`]);
    expect(wanted.filter((each) => !cases.has(each))).toEqual(['TidemarkWatchdog false']);
    const order = [...new Set(alarmCases().map(({ alarm }) => alarm))];
    expect(order).toEqual(alarms().map(({ alert }) => alert));
  });

  // A process that starts has no past: a case with one shows an alarm that may never fire.
  it('each have cases whose series begin absent', () => {
    expect(alarmCases().filter(({ beginsAbsent }) => !beginsAbsent)).toEqual([]);
  });

  // An alarm on a metric that no role exposes never fires.
  it('and the dashboards ask only for figures that the roles expose', async () => {
    const known = await knownNames();
    const asked = [...alarms().map(({ expr }) => expr), ...queriesTo('prometheus').map(({ text }) => text)];
    expect(asked.flatMap(namesIn).filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('the dashboards', () => {
  // A 0 in the place of missing figures is green while nothing is read.
  it('say that there is no data where there is none', () => {
    const panels = [...dashboards().values()].flatMap((dashboard) => dashboard.panels);
    const silent = panels.filter(
      ({ type, fieldConfig }) => type !== 'row' && fieldConfig?.defaults.noValue !== 'no data',
    );
    expect(silent.map(({ title }) => title)).toEqual([]);
    expect(queriesTo('prometheus').filter(({ text }) => /\bvector\(|absent/.test(text))).toEqual([]);
  });

  // FINAL over the ledger of a busy deployment takes longer than the refresh of a panel.
  it('do not merge the ledger at each refresh', () => {
    const queries = queriesTo('grafana-clickhouse-datasource');
    expect(queries.length).toBeGreaterThan(5);
    expect(queries.filter(({ text }) => /\bingest_\w+ FINAL\b/.test(text))).toEqual([]);
    // Rows with one uid have one day: of tables of items FINAL reads the days of the panel alone.
    const whole = queries.filter(({ text }) =>
      / FINAL\b(?!.*do_not_merge_across_partitions_select_final = 1)/.test(text),
    );
    expect(whole).toEqual([]);
  });

  it('have unique ids, and no panel lies on another', () => {
    for (const { panels } of dashboards().values()) {
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
      const cells = panels.flatMap(({ gridPos: { h, w, x, y } }) =>
        Array.from({ length: h * w }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
      );
      expect(new Set(cells).size).toBe(cells.length);
    }
  });
});
