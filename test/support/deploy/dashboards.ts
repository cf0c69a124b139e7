import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** The folder with everything that deploys the program. */
export const deployFolder = join(import.meta.dirname, '../../../deploy');

const sourceSchema = z.object({ type: z.string(), uid: z.string() });
const targetSchema = z.object({
  datasource: sourceSchema,
  expr: z.string().optional(),
  rawSql: z.string().optional(),
});
const dashboardSchema = z.object({
  uid: z.string(),
  title: z.string(),
  templating: z.object({
    list: z.array(z.object({ name: z.string(), datasource: sourceSchema, query: z.string() })),
  }),
  panels: z.array(
    z.object({
      id: z.number(),
      type: z.string(),
      title: z.string(),
      gridPos: z.object({ h: z.number(), w: z.number(), x: z.number(), y: z.number() }),
      targets: z.array(targetSchema).default([]),
      fieldConfig: z.object({ defaults: z.object({ noValue: z.string().optional() }) }).optional(),
    }),
  ),
});
export type Dashboard = z.output<typeof dashboardSchema>;

const folder = join(deployFolder, 'grafana/dashboards');

/** Every dashboard there is, by file. */
export const dashboards = (): ReadonlyMap<string, Dashboard> =>
  new Map(
    readdirSync(folder).map((file) => [
      file,
      dashboardSchema.parse(JSON.parse(readFileSync(join(folder, file), 'utf8'))),
    ]),
  );

/** A query of a panel, and where it stands. */
export type PanelQuery = { readonly place: string; readonly text: string };

/** The queries of all panels that go to this kind of source. */
export const queriesTo = (type: string): PanelQuery[] =>
  [...dashboards()].flatMap(([file, { panels }]) =>
    panels.flatMap(({ title, targets }) =>
      targets
        .filter(({ datasource }) => datasource.type === type)
        .map(({ expr, rawSql }) => ({ place: `${file}: ${title}`, text: expr ?? rawSql ?? '' })),
    ),
  );

const rulesSchema = z.object({
  groups: z.array(
    z.object({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string(),
          expr: z.string(),
          for: z.string(),
          labels: z.strictObject({ severity: z.enum(['page', 'ticket', 'none']) }),
          annotations: z.strictObject({ summary: z.string(), runbook: z.string() }),
        }),
      ),
    }),
  ),
});

/** Every alarm of deploy/prometheus/rules. */
export const alarms = () =>
  rulesSchema
    .parse(parse(readFileSync(join(deployFolder, 'prometheus/rules/tidemark.yaml'), 'utf8')))
    .groups.flatMap(({ rules }) => rules);

const ruleTestsSchema = z.object({
  tests: z.array(
    z.object({
      input_series: z.array(z.object({ series: z.string(), values: z.string() })),
      alert_rule_test: z.array(z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) })),
    }),
  ),
});

/** A case of deploy/prometheus/rules.test.yaml. */
export type AlarmCase = {
  readonly alarm: string;
  /** Whether it has to fire. */
  readonly fires: boolean;
  /** Whether no series of the case exists at its start. */
  readonly beginsAbsent: boolean;
};

/** All cases, in their order. */
export const alarmCases = (): AlarmCase[] =>
  ruleTestsSchema
    .parse(parse(readFileSync(join(deployFolder, 'prometheus/rules.test.yaml'), 'utf8')))
    .tests.flatMap(({ input_series: series, alert_rule_test: cases }) =>
      cases.map(({ alertname, exp_alerts: expected }) => ({
        alarm: alertname,
        fires: expected.length > 0,
        beginsAbsent: series.every(({ values }) => values.startsWith('_')),
      })),
    );
