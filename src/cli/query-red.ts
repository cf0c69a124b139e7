import type { Command } from 'commander';
import { redAnswer } from '../metadata/answers/explore.ts';
import { idArgument } from './options.ts';
import { integerArgument, nothing, printTable } from './output.ts';
import { addQueryOptions, printQuery, type QueryOptions, sayMore } from './query-options.ts';

type RedOptions = QueryOptions & {
  appId?: number;
  service?: string;
  operation?: string;
  operations?: true;
  kind?: string[];
  limit?: number;
};

const kindsArgument = (text: string): string[] => text.split(',');

const red = (options: RedOptions): Promise<void> => {
  const body = {
    app_id: options.appId,
    service: options.service,
    operation: options.operation,
    kinds: options.kind,
    by: options.operations ? 'operation' : undefined,
    limit: options.limit,
  };
  return printQuery(options, redAnswer, { path: '/api/v1/query/red', body }, ({ items, truncated }) => {
    const hasOperations = items.some(({ operation }) => operation !== null);
    printTable(
      [
        'SERVICE',
        ...(hasOperations ? ['OPERATION'] : []),
        ...['REQUESTS', 'PER S', 'ERRORS', 'ERRORS %', 'P50 MS', 'P95 MS', 'P99 MS'],
      ],
      items.map((item) => [
        item.service || nothing,
        ...(hasOperations ? [item.operation || nothing] : []),
        item.requests,
        item.per_second.toPrecision(3),
        item.errors,
        (100 * item.error_ratio).toFixed(1),
        ...[item.p50_ms, item.p95_ms, item.p99_ms].map((ms) => ms.toFixed(1)),
      ]),
    );
    sayMore(truncated);
  });
};

/** `tidemark query red`. */
export const registerRed = (query: Command): void => {
  addQueryOptions(
    query
      .command('red')
      .description('requests, errors and durations of services, from spans; those with most requests first')
      .option('--app-id <app_id>', 'only of this application', idArgument)
      .option('--service <name>', 'service.name')
      .option('--operation <name>', 'name of the spans')
      .option('--operations', 'a row for each operation of each service')
      .option(
        '--kind <kinds>',
        'kinds of spans that count, separated by commas; default server,consumer',
        kindsArgument,
      )
      .option('--limit <n>', 'at most this many (1 to 1000), default 100', integerArgument),
  ).action(red);
};
