import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { pointsAnswer, servicesAnswer, tracesAnswer, valuesAnswer } from '../metadata/answers/explore.ts';
import { counted } from '../model/counted.ts';
import { durationArgument, idArgument } from './options.ts';
import { integerArgument, nothing, printLine, printMore, printTable, sayLines, timeText } from './output.ts';
import { registerLogs } from './query-logs.ts';
import { registerMetrics } from './query-metrics.ts';
import {
  type Attribute,
  addQueryOptions,
  attributeArgument,
  millisecondText,
  printQuery,
  type QueryOptions,
  sayMore,
} from './query-options.ts';
import { registerRed } from './query-red.ts';
import { registerTrace } from './trace.ts';

const { element: series } = pointsAnswer.shape.series;
const pointsSchema = pointsAnswer.extend({
  // Missing in answers of earlier versions.
  series: z.array(series.extend({ too_large: z.array(z.int()).default([]) })),
});

type Points = z.output<typeof pointsSchema>;

const printPoints = ({ buckets, series, series_total: total, raw }: Points, isCount: boolean): void => {
  if (raw !== null) {
    printTable(raw.columns, raw.rows);
    return;
  }
  const names = series.map(({ metric, group }) =>
    [metric, ...group.map((value) => value ?? nothing)].join(' '),
  );
  const rows = buckets.flatMap((at, index) => {
    const values = series.map(({ values: all, too_large: large }) =>
      large.includes(index) ? 'too large' : all[index],
    );
    const isEmpty = values.every(
      (value) => value === null || value === undefined || (isCount && value === 0),
    );
    return isEmpty ? [] : [[timeText(at), ...values]];
  });
  printTable(['TIME', ...names], rows);
  if (total > series.length)
    sayLines(`${counted(total - series.length, 'series', 'series')} left out: those with fewest rows`);
  const large = new Set(series.flatMap((each) => each.too_large)).size;
  if (large > 0)
    sayLines(
      `the sum of ${counted(large, 'bucket')} is larger than 1.8e308, the largest number: take a shorter step, or another aggregate`,
    );
};

type Filter = { dimension: string; operator: '=' | '!=' | 'in' | 'not in'; values: string[] };

/** The values between commas. Of backslashes before a comma two are one, and one that is left makes the comma a part of its value. */
const valuesBetweenCommas = (text: string): string[] => {
  const parts = text.split(',');
  const values: string[] = [];
  let value = '';
  for (const part of parts.slice(0, -1)) {
    let end = part.length;
    while (part[end - 1] === '\\') end--;
    const backslashes = part.length - end;
    value += part.slice(0, end) + '\\'.repeat(Math.floor(backslashes / 2));
    if (backslashes % 2 === 1) value += ',';
    else {
      values.push(value);
      value = '';
    }
  }
  return [...values, value + (parts.at(-1) ?? '')];
};

/** `host=a`, `host!=a`, `host=a,b`, `host!=a,b`; `host=a\,b` is one value. */
export const filterArgument = (text: string, before: Filter[] = []): Filter[] => {
  const at = text.indexOf('=');
  const isNot = text[at - 1] === '!';
  const dimension = text.slice(0, Math.max(0, isNot ? at - 1 : at));
  if (dimension === '')
    throw new InvalidArgumentError(
      'It must look like host=web-1, host!=web-1, host=web-1,web-2 or host!=web-1,web-2.',
    );
  const values = valuesBetweenCommas(text.slice(at + 1));
  const [one, several] = isNot ? (['!=', 'not in'] as const) : (['=', 'in'] as const);
  return [...before, { dimension, operator: values.length === 1 ? one : several, values }];
};

const listArgument = (text: string, before: string[] = []): string[] => [...before, ...text.split(',')];

type PointsOptions = QueryOptions & {
  dataId: number;
  metric: string[];
  aggregate?: string;
  where?: Filter[];
  by?: string[];
  step?: number;
  raw?: true;
};

const points = (options: PointsOptions): Promise<void> => {
  const { dataId, metric, aggregate, where, by, step, raw } = options;
  const body = {
    data_id: dataId,
    metrics: metric,
    aggregate,
    filter: where,
    group_by: by,
    step,
    raw,
  };
  return printQuery(options, pointsSchema, { path: '/api/v1/query/points', body }, (answer) =>
    printPoints(answer, aggregate === 'count'),
  );
};

const values = (
  dimension: string,
  options: QueryOptions & { dataId: number; limit?: number },
): Promise<void> => {
  const parameters = { data_id: options.dataId, dimension, limit: options.limit };
  const query = { path: '/api/v1/query/points/values', parameters };
  return printQuery(options, valuesAnswer, query, ({ values: found, truncated }) => {
    printTable(
      ['VALUE', 'ROWS'],
      found.map(({ value, rows }) => [value, rows]),
    );
    sayMore(truncated);
  });
};

type TracesOptions = QueryOptions & {
  appId?: number;
  service?: string;
  span?: string;
  status?: string;
  minMs?: number;
  maxMs?: number;
  attribute?: Attribute<'span'>[];
  resource?: Attribute<'resource'>[];
  limit?: number;
  cursor?: string;
};

const traces = (options: TracesOptions): Promise<void> => {
  const body = {
    app_id: options.appId,
    service: options.service,
    span_name: options.span,
    status: options.status,
    min_duration_ms: options.minMs,
    max_duration_ms: options.maxMs,
    attributes: [...(options.attribute ?? []), ...(options.resource ?? [])],
    limit: options.limit,
    cursor: options.cursor,
  };
  return printQuery(
    options,
    tracesAnswer,
    { path: '/api/v1/query/traces', body },
    ({ items, next_cursor }) => {
      printTable(
        ['TRACE', 'START', 'SERVICE', 'ROOT', 'MS', 'SPANS', 'ERRORS'],
        items.map((item) => [
          item.trace_id,
          millisecondText(item.start * 1_000),
          item.root_service || nothing,
          item.root_name || nothing,
          item.duration_ms.toFixed(1),
          item.spans,
          item.errors,
        ]),
      );
      printMore(next_cursor);
    },
  );
};

const services = (options: QueryOptions & { appId?: number }): Promise<void> => {
  const query = { path: '/api/v1/traces/services', parameters: { app_id: options.appId } };
  return printQuery(options, servicesAnswer, query, ({ items, truncated }) => {
    printTable(
      ['SERVICE', 'SPAN', 'SPANS'],
      items.flatMap(({ service, span_names: names }) =>
        names.map(({ name, spans }) => [service || nothing, name || nothing, spans]),
      ),
    );
    if (truncated) printLine('more follow');
  });
};

const millisecondsArgument = (text: string): number => {
  if (!/^\d{1,12}(\.\d{1,6})?$/.test(text))
    throw new InvalidArgumentError('It must be milliseconds: 250, 0.5.');
  return Number(text);
};

const dataIdOption = (): Option =>
  new Option('--data-id <mon_data_id>', 'data id of the points').argParser(idArgument).makeOptionMandatory();

const registerPoints = (query: Command): void => {
  addQueryOptions(
    query
      .command('points')
      .description('series of stored metrics: at most 20 of 600 buckets, those with most rows first')
      .addOption(dataIdOption())
      .requiredOption('--metric <names>', 'one to four metrics, separated by commas', listArgument)
      .option('--aggregate <name>', 'avg, min, max, sum, count or last; default avg')
      .option(
        '--where <dimension=value>',
        'also dimension!=value, dimension=a,b and dimension!=a,b; \\, is a comma within a value; may be repeated',
        filterArgument,
      )
      .option(
        '--by <dimensions>',
        'a series for each value of one or two dimensions, separated by commas',
        listArgument,
      )
      .option(
        '--step <duration>',
        'length of a bucket; default the smallest one that makes at most 600',
        durationArgument,
      )
      .addOption(
        new Option('--raw', 'the last 50 rows instead of series').conflicts(['aggregate', 'by', 'step']),
      ),
  ).action(points);
  addQueryOptions(
    query
      .command('values')
      .description('values of a dimension, those with most rows first')
      .argument('<dimension>', 'dimension, or target')
      .addOption(dataIdOption())
      .option('--limit <n>', 'at most this many (1 to 1000), default 100', integerArgument),
  ).action(values);
};

const registerTraces = (query: Command): void => {
  addQueryOptions(
    query
      .command('traces')
      .description('newest traces with a span that fulfils all conditions together')
      .option('--app-id <app_id>', 'only of this application', idArgument)
      .option('--service <name>', 'service.name of the span')
      .option('--span <name>', 'name of the span')
      .option('--status <status>', 'unset, ok or error')
      .option('--min-ms <ms>', 'duration of the span, at least', millisecondsArgument)
      .option('--max-ms <ms>', 'duration of the span, at most', millisecondsArgument)
      .option('--attribute <key=value>', 'attribute of the span; may be repeated', attributeArgument('span'))
      .option(
        '--resource <key=value>',
        'attribute of its resource; may be repeated',
        attributeArgument('resource'),
      )
      .option('--limit <n>', 'at most this many (1 to 200), default 20', integerArgument)
      .option('--cursor <cursor>', 'next_cursor of the previous page'),
  ).action(traces);
  addQueryOptions(
    query
      .command('services')
      .description('services and names of their spans, those with most spans first')
      .option('--app-id <app_id>', 'only of this application', idArgument),
  ).action(services);
};

/** `tidemark query points | values | traces | services | logs | red | metrics`, and `tidemark trace`. */
export const register = (program: Command): void => {
  const query = program
    .command('query')
    .description('stored points, traces, logs and metrics of OpenTelemetry, within limits (docs/explore.md)');
  registerPoints(query);
  registerTraces(query);
  registerLogs(query);
  registerRed(query);
  registerMetrics(query);
  registerTrace(program);
};
