import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { lastValuesAnswer, metricsAnswer } from '../metadata/answers/explore.ts';
import { Fault } from '../model/fault.ts';
import { idArgument } from './options.ts';
import { integerArgument, nothing, printTable } from './output.ts';
import {
  type Attribute,
  addQueryOptions,
  attributeArgument,
  nanoTimeText,
  printQuery,
  type QueryOptions,
  sayMore,
} from './query-options.ts';

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
    metricsAnswer,
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

type LastValue = z.output<typeof lastValuesAnswer>['items'][number];

/** Quantiles are estimates: four digits of them are enough. */
const shortText = (value: string): string => {
  const number = Number(value);
  return Number.isFinite(number) ? String(Number(number.toPrecision(4))) : value;
};

const valueText = ({ value, distribution }: LastValue): string => {
  if (distribution === null) return value ?? nothing;
  const { count, sum, quantiles } = distribution;
  const shown = quantiles.flatMap(({ level, value: at }) =>
    at === null ? [] : [`p${Number((100 * level).toPrecision(10))} ${shortText(at)}`],
  );
  return [`count ${count}`, ...(sum === null ? [] : [`sum ${sum}`]), ...shown].join(', ');
};

const pairsText = (attributes: LastValue['attributes']): string =>
  attributes.map(({ key, value }) => `${key}=${value}`).join(' ');

const lastValues = (name: string, options: MetricsOptions): Promise<void> => {
  const attributes = [...(options.attribute ?? []), ...(options.resource ?? [])];
  const body = { ...conditionsOf(options), name, attributes };
  return printQuery(
    options,
    lastValuesAnswer,
    { path: '/api/v1/query/metrics/last', body },
    ({ items, truncated }) => {
      const hasApps = items.some(({ app_id: id }) => id !== items[0]?.app_id);
      printTable(
        ['TIME', ...(hasApps ? ['APP'] : []), 'SERVICE', 'VALUE', 'UNIT', 'SCOPE', 'ATTRIBUTES'],
        items.map((item) => [
          nanoTimeText(item.time_unix_nano),
          ...(hasApps ? [item.app_id] : []),
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
