import { startOpsServer } from '../../src/runtime/ops-server.ts';
import { createAccountMetrics } from '../../src/telemetry/account-metrics.ts';
import { createIngressMetrics } from '../../src/telemetry/ingress-metrics.ts';
import { labelBounds } from '../../src/telemetry/label-bounds.ts';
import { createMetadataMetrics } from '../../src/telemetry/metadata-metrics.ts';
import { type MetricRemedy, processRemedies, remedyOf } from '../../src/telemetry/meters.ts';
import { createRefreshMetrics } from '../../src/telemetry/refresh-metrics.ts';
import type { Registry } from '../../src/telemetry/shared-metrics.ts';
import { createTransferMetrics } from '../../src/telemetry/transfer-metrics.ts';
import { createUpkeepMetrics } from '../../src/telemetry/upkeep-metrics.ts';
import { createWatchMetrics } from '../../src/telemetry/watch-metrics.ts';

export type Role = 'ingress' | 'transfer' | 'metadata';
export const roles: readonly Role[] = ['ingress', 'transfer', 'metadata'];

export type DocumentedMetric = {
  readonly name: string;
  readonly kind: string;
  readonly labels: readonly string[];
  readonly meaning: string;
  /** Undefined for those of prom-client that operators do not use. */
  readonly remedy: MetricRemedy | undefined;
};

const registryOf = (role: Role): Registry => {
  if (role === 'ingress') return createIngressMetrics().registry;
  if (role === 'transfer') return createTransferMetrics().registry;
  const { registry } = createMetadataMetrics();
  createRefreshMetrics(registry);
  createWatchMetrics(registry);
  createAccountMetrics(registry);
  createUpkeepMetrics(registry);
  return registry;
};

/** Every metric that the code of a role defines, those of its operations port included. */
export const definedMetrics = async (role: Role): Promise<DocumentedMetric[]> => {
  const registry = registryOf(role);
  const readiness = { checks: {}, degraded: {} };
  const ops = await startOpsServer({ host: '127.0.0.1', port: 0, variable: '', registry, readiness });
  await ops.stop();
  return registry.getMetricsAsArray().map((metric) => {
    const labels: unknown = Reflect.get(metric, 'labelNames');
    const name = String(Reflect.get(metric, 'name'));
    const kind = String(Reflect.get(metric, 'type') ?? metric.constructor.name).toLowerCase();
    return {
      name,
      kind,
      labels: Array.isArray(labels) ? labels.map(String) : [],
      meaning: String(Reflect.get(metric, 'help')).replace(/\.$/, ''),
      remedy: remedyOf(metric) ?? processRemedies[name],
    };
  });
};

const cell = (text: string): string => text.replaceAll('|', '\\|');

const row = (
  { name, kind, labels, meaning }: DocumentedMetric,
  { remedy, collector }: MetricRemedy,
): string => {
  const known = collector === undefined ? '' : ` Collector: \`${collector}\`.`;
  const shown = labels.length === 0 ? '–' : labels.join(', ');
  return `| \`${name}\` | ${kind} | ${shown} | ${cell(meaning)}.${known} | ${cell(remedy)} |`;
};

const section = (title: string, metrics: readonly DocumentedMetric[]): string[] => [
  '',
  `## ${title}`,
  '',
  '| name | kind | labels | meaning | what to do |',
  '|---|---|---|---|---|',
  ...metrics.flatMap((metric) => (metric.remedy === undefined ? [] : [row(metric, metric.remedy)])),
];

/** The metrics that all roles have, then what each has beside them. */
const sections = async (): Promise<string[]> => {
  const defined = await Promise.all(
    roles.map(async (role) => ({ role, metrics: await definedMetrics(role) })),
  );
  const isOfAll = ({ name }: DocumentedMetric): boolean =>
    defined.every(({ metrics }) => metrics.some((each) => each.name === name));
  return [
    ...section('Every role', defined[0]?.metrics.filter(isOfAll) ?? []),
    ...defined.flatMap(({ role, metrics }) =>
      section(
        role,
        metrics.filter((metric) => !isOfAll(metric)),
      ),
    ),
  ];
};

/** docs/metrics.md: every metric on `/metrics` of the three roles. */
export const metricsDocument = async (): Promise<string> =>
  [
    '# Metrics',
    '',
    '`make docs` writes this page from `src/telemetry`.',
    '',
    'Each role serves Prometheus text at `/metrics` on its operations port: ingress 10310, transfer 10311, metadata 10312. prom-client',
    'adds metrics that begin with `process_` or `nodejs_`; those without an entry below are its own, unchanged. Where the OpenTelemetry',
    'Collector has the same metric, the meaning names it, so that its rules can be adapted. The alarms are in `docs/runbook.md`.',
    '',
    'An ingress with several processes (`TIDEMARK_INGRESS_PROCESSES`) has an operations port and metrics for each of them, 10 apart: 10310,',
    '10320, 10330. Scrape all of them as targets of the job `tidemark-ingress`, and take the `sum` of counters and of gauges that count',
    'bytes, requests or connections.',
    '',
    'Metadata reports lag and fill of the streams, so these metrics exist while transfer is scaled to zero or stalls. Every metadata',
    'process reports the same values, so take `max`, not `sum`.',
    ...(await sections()),
    '',
    '## Labels',
    '',
    'Every label has a bounded set of values; no label takes an unbounded value from a sender.',
    '',
    '| label | values |',
    '|---|---|',
    ...Object.entries(labelBounds).map(([label, { text }]) => `| ${label} | ${cell(text)} |`),
    '',
  ].join('\n');
