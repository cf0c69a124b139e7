import { type Command, Option } from 'commander';
import { z } from 'zod';
import { Fault } from '../model/fault.ts';
import { idArgument } from './options.ts';
import { integerArgument, nothing, printTable } from './output.ts';
import {
  type Attribute,
  addQueryOptions,
  attributeArgument,
  bounded,
  nanoTimeText,
  printQuery,
  type QueryOptions,
  sayMore,
} from './query-options.ts';

const metricsSchema = bounded.extend({
  items: z.array(
    z.object({
      app_id: z.number(),
      service: z.string(),
      name: z.string(),
      kind: z.string(),
      unit: z.string(),
      temporality: z.string().nullable(),
      series: z.number(),
      attributes: z.array(z.object({ key: z.string(), values: z.number() })),
    }),
  ),
  truncated: z.boolean(),
});

const pairsSchema = z.array(z.object({ key: z.string(), value: z.string() }));

const lastSchema = bounded.extend({
  items: z.array(
    z.object({
      service: z.string(),
      unit: z.string(),
      time_unix_nano: z.string(),
      value: z.string().nullable(),
      distribution: z
        .object({
          count: z.string(),
          sum: z.string().nullable(),
          quantiles: z.array(z.object({ level: z.number(), value: z.string().nullable() })),
        })
        .nullable(),
      attributes: pairsSchema,
      scope: z.object({ name: z.string(), attributes: pairsSchema }),
    }),
  ),
  truncated: z.boolean(),
});

type MetricsOptions = QueryOptions & {
  appId?: number;
  service?: string;
  name?: string;
  kind?: string;
  last?: string;
  attribute?: Attribute<'data_point'>[];
  resource?: Attribute<'resource'>[];
  limit?: number;
};

const conditionsOf = (options: MetricsOptions) => ({
  app_id: options.appId,
  service: options.service,
  kind: options.kind,
  limit: options.limit,
});

const list = async (options: MetricsOptions): Promise<void> => {
  for (const option of ['attribute', 'resource'] as const)
    if (options[option] !== undefined)
      throw new Fault('permanent', 'wrong_words', `--${option} needs --last`);
  const body = { ...conditionsOf(options), name: options.name };
  await printQuery(
    options,
    metricsSchema,
    { path: '/api/v1/query/metrics', body },
    ({ items, truncated }) => {
      printTable(
        ['METRIC', 'KIND', 'TEMPORALITY', 'UNIT', 'APP', 'SERVICE', 'SERIES', 'DISTINCT VALUES'],
        items.map((item) => [
          item.name,
          item.kind,
          item.temporality,
          item.unit || nothing,
          item.app_id,
          item.service || nothing,
          item.series,
          item.attributes.map(({ key, values }) => `${key} ${values}`).join(', ') || nothing,
        ]),
      );
      sayMore(truncated);
    },
  );
};

/** Quantiles are estimates: four digits of them are enough. */
const shortText = (value: string): string => {
  const number = Number(value);
  return Number.isFinite(number) ? String(Number(number.toPrecision(4))) : value;
};

const valueText = ({ value, distribution }: z.output<typeof lastSchema>['items'][number]): string => {
  if (distribution === null) return value ?? nothing;
  const { count, sum, quantiles } = distribution;
  const shown = quantiles.flatMap(({ level, value: at }) =>
    at === null ? [] : [`p${Number((100 * level).toPrecision(10))} ${shortText(at)}`],
  );
  return [`count ${count}`, ...(sum === null ? [] : [`sum ${sum}`]), ...shown].join(', ');
};

const pairsText = (attributes: z.output<typeof pairsSchema>): string =>
  attributes.map(({ key, value }) => `${key}=${value}`).join(' ');

const lastValues = (name: string, options: MetricsOptions): Promise<void> => {
  const attributes = [...(options.attribute ?? []), ...(options.resource ?? [])];
  const body = { ...conditionsOf(options), name, attributes };
  return printQuery(
    options,
    lastSchema,
    { path: '/api/v1/query/metrics/last', body },
    ({ items, truncated }) => {
      printTable(
        ['TIME', 'SERVICE', 'VALUE', 'UNIT', 'SCOPE', 'ATTRIBUTES'],
        items.map((item) => [
          nanoTimeText(item.time_unix_nano),
          item.service || nothing,
          valueText(item),
          item.unit || nothing,
          [item.scope.name, pairsText(item.scope.attributes)].filter((part) => part !== '').join(' ') ||
            nothing,
          pairsText(item.attributes) || nothing,
        ]),
      );
      sayMore(truncated);
    },
  );
};

/** `tidemark query metrics`. */
export const registerMetrics = (query: Command): void => {
  addQueryOptions(
    query
      .command('metrics')
      .description(
        'metrics of OpenTelemetry with their series, those with most first; with --last the values of one',
      )
      .option('--app-id <app_id>', 'only of this application', idArgument)
      .option('--service <name>', 'service.name')
      .option('--name <metric>', 'only this metric')
      .addOption(
        new Option('--kind <kind>', 'only of this kind').choices([
          ...['gauge', 'sum', 'histogram', 'exponential_histogram', 'summary'],
        ]),
      )
      .addOption(
        new Option(
          '--last <metric>',
          'the last value of each series of this metric; of a histogram or summary its count, sum and quantiles',
        ).conflicts('name'),
      )
      .option(
        '--attribute <key=value>',
        'with --last, attribute of the data point; may be repeated',
        attributeArgument('data_point'),
      )
      .option(
        '--resource <key=value>',
        'with --last, attribute of its resource; may be repeated',
        attributeArgument('resource'),
      )
      .option('--limit <n>', 'at most this many (1 to 1000), default 100', integerArgument),
  ).action((options: MetricsOptions) =>
    options.last === undefined ? list(options) : lastValues(options.last, options),
  );
};
