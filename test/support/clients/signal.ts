import { logColumns } from '../../../src/wire/native/log-columns.ts';
import { readDataPoints } from '../otlp/data-point-rows.ts';
import type { TraceStack } from '../otlp/trace-stack.ts';
import type { Application } from '../stack/stack.ts';
import type { HeldRow } from './process.ts';

/** What the exporters of one signal send, and how it is read back. */
export type ClientSignal = {
  /** The first argument of the client programs. */
  readonly name: 'traces' | 'logs' | 'metrics';
  /** The word for its items, for one and for several. */
  readonly item: string;
  readonly items: string;
  /** The path of its receiver over HTTP. */
  readonly path: string;
  /** The column of an item's own attributes. */
  readonly attributes: string;
  /** What tells a row from the others of its application. */
  identityOf(row: HeldRow): string;
  /** What the application has stored once everything sent before is settled, without what differs in every delivery. */
  stored(on: TraceStack, application: Application): Promise<readonly HeldRow[]>;
};

export const traces: ClientSignal = {
  name: 'traces',
  item: 'span',
  items: 'spans',
  path: '/v1/traces',
  attributes: 'SpanAttributes',
  identityOf: ({ SpanId: id }) => String(id),
  stored: (on, application) => on.storedSpans(application),
};

/** Columns that differ in every delivery, and the whole seconds of Timestamp, which no client holds. */
const unheld = new Set<string>(['uid', 'ArrivedAt', 'TimestampTime']);

const storedLogColumns = logColumns
  .filter(({ name }) => !unheld.has(name))
  .map(({ name, type }) =>
    type === 'DateTime64(9)' ? `toString(toUnixTimestamp64Nano(${name})) AS ${name}` : name,
  );

/** The number that each client gives a log record: it has no id of its own. */
const numberOf = ({ LogAttributes: attributes }: HeldRow): string =>
  typeof attributes === 'object' && attributes !== null && 'number' in attributes
    ? String(attributes.number)
    : '';

export const logs: ClientSignal = {
  name: 'logs',
  item: 'log record',
  items: 'log records',
  path: '/v1/logs',
  attributes: 'LogAttributes',
  identityOf: numberOf,
  stored: async ({ stack }, { app_id: id }) => {
    await stack.waitForEmptyStream('LOGS');
    return stack.spansQuery(`SELECT ${storedLogColumns.join(', ')} FROM otel.otel_logs WHERE AppId = ${id}`);
  },
};

/** The number that each client gives the attributes of a data point: its series; each export has a time of its own. */
const seriesAndTimeOf = ({ MetricName: name, Attributes: attributes, TimeUnix: time }: HeldRow): string =>
  typeof attributes === 'object' && attributes !== null && 'number' in attributes
    ? `${name} ${attributes.number} ${time}`
    : `${name} ${time}`;

/** Rows have the kind of their data point as `Table`; values that are no numbers are texts. */
export const metrics: ClientSignal = {
  name: 'metrics',
  item: 'data point',
  items: 'data points',
  path: '/v1/metrics',
  attributes: 'Attributes',
  identityOf: seriesAndTimeOf,
  stored: async ({ stack }, { app_id: id }) => {
    await stack.waitForEmptyStream('OTEL_METRICS');
    return readDataPoints(stack, id);
  },
};
