import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { logsAnswer } from '../metadata/answers/explore.ts';
import { idArgument } from './options.ts';
import { integerArgument, nothing, printMore, printTable } from './output.ts';
import {
  type Attribute,
  addQueryOptions,
  attributeArgument,
  nanoTimeText,
  printQuery,
  type QueryOptions,
  traceIdArgument,
} from './query-options.ts';

type LogRecord = z.output<typeof logsAnswer>['items'][number];

type LogsOptions = QueryOptions & {
  appId?: number;
  service?: string;
  severity?: string;
  text?: string;
  trace?: string;
  attribute?: Attribute<'log'>[];
  resource?: Attribute<'resource'>[];
  limit?: number;
  cursor?: string;
};

const severityOf = ({ severity_text: text, severity_number: number }: LogRecord): string => {
  if (text !== '') return text;
  return number === 0 ? nothing : String(number);
};

const bodyMax = 200;

const bodyOf = ({ body }: LogRecord): string =>
  body.length > bodyMax ? `${body.slice(0, bodyMax)}…` : body || nothing;

/** A table of log records. `isOfOne`: of one trace, which is not named again. */
export const printLogs = (items: readonly LogRecord[], isOfOne: boolean): void =>
  printTable(
    ['TIME', 'SEVERITY', 'SERVICE', isOfOne ? 'SPAN' : 'TRACE', 'BODY'],
    items.map((item) => [
      nanoTimeText(item.time_unix_nano),
      severityOf(item),
      item.service || nothing,
      (isOfOne ? item.span_id : item.trace_id) || nothing,
      bodyOf(item),
    ]),
  );

const logs = (options: LogsOptions): Promise<void> => {
  const body = {
    app_id: options.appId,
    service: options.service,
    severity: options.severity,
    text: options.text,
    trace_id: options.trace,
    attributes: [...(options.attribute ?? []), ...(options.resource ?? [])],
    limit: options.limit,
    cursor: options.cursor,
  };
  return printQuery(options, logsAnswer, { path: '/api/v1/query/logs', body }, ({ items, next_cursor }) => {
    printLogs(items, options.trace !== undefined);
    printMore(next_cursor);
  });
};

/** `tidemark query logs`. */
export const registerLogs = (query: Command): void => {
  addQueryOptions(
    query
      .command('logs')
      .description('newest log records that fulfil all conditions')
      .option('--app-id <app_id>', 'only of this application', idArgument)
      .option('--service <name>', 'service.name')
      .addOption(
        new Option('--severity <name>', 'at least this severe').choices([
          ...['trace', 'debug', 'info', 'warn', 'error', 'fatal'],
        ]),
      )
      .option(
        '--text <text>',
        'text in the body, case-sensitive, as whole words: no further ASCII letter or digit may follow at its ends',
      )
      .option('--trace <trace_id>', 'only of this trace', traceIdArgument)
      .option(
        '--attribute <key=value>',
        'attribute of the log record; may be repeated',
        attributeArgument('log'),
      )
      .option(
        '--resource <key=value>',
        'attribute of its resource; may be repeated',
        attributeArgument('resource'),
      )
      .option('--limit <n>', 'at most this many (1 to 200), default 50', integerArgument)
      .option('--cursor <cursor>', 'next_cursor of the previous page'),
  ).action(logs);
};
