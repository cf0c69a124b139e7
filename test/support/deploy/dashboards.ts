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
          labels: z.strictObject({ severity: z.enum(['page', 'ticket']) }),
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
      alert_rule_test: z.array(z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) })),
    }),
  ),
});

/** The cases of deploy/prometheus/rules.test.yaml: which alarm, and whether it has to fire. */
export const alarmCases = (): { alarm: string; fires: boolean }[] =>
  ruleTestsSchema
    .parse(parse(readFileSync(join(deployFolder, 'prometheus/rules.test.yaml'), 'utf8')))
    .tests.flatMap(({ alert_rule_test: cases }) =>
      cases.map(({ alertname, exp_alerts: expected }) => ({ alarm: alertname, fires: expected.length > 0 })),
    );
