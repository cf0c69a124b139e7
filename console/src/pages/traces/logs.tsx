import type { components } from '../../api/schema.d.ts';
import { column, text } from '../../parts/columns.tsx';
import { Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Queried, Ran, useAsked } from '../../parts/query.tsx';
import { Badge, type Tone, TooLarge } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import type { TraceAnswer } from './tree.ts';

type LogRecord = components['schemas']['LogRecord'];

/** Records may come before the first span and after the last one: of other clocks, and of work that goes on. */
const aroundSeconds = 300;
const recordsMax = 200;

/** By the ranges of OTLP: from 17 an error, from 13 a warning. */
const toneOf = (severity: number): Tone => (severity >= 17 ? 'bad' : severity >= 13 ? 'warn' : 'neutral');

const milliseconds = ({ time_unix_nano: time }: LogRecord): number => Number(time) / 1e6;

const columns: readonly Column<LogRecord>[] = [
  column('Time', (each) => <Time at={milliseconds(each)} ms />, milliseconds),
  column(
    'Severity',
    ({ severity_number: severity, severity_text: name }) =>
      severity === 0 && name === '' ? (
        '–'
      ) : (
        <Badge tone={toneOf(severity)}>
          <Hostile text={name === '' ? String(severity) : name} max={20} />
        </Badge>
      ),
    (each) => each.severity_number,
  ),
  text('Service', ({ service }) => service),
  column('Body', ({ body }) => <Hostile text={body} max={300} />),
  text('Span', (each) => each.span_id || '–'),
];

export const LogsOfTrace = ({ trace }: { trace: TraceAnswer }) => {
  const start = Number(trace.start_unix_nano) / 1e9;
  const body = {
    trace_id: trace.trace_id,
    attributes: [],
    since: Math.max(0, Math.floor(start) - aroundSeconds),
    until: Math.ceil(start + trace.duration_ns / 1e9) + aroundSeconds,
    wide: true,
    limit: recordsMax,
  };
  const found = useAsked('/api/v1/query/logs', body, '');
  return (
    <>
      <h2>Log records</h2>
      <Queried of={found}>
        {({ items, next_cursor, ...ran }) => (
          <>
            <Table
              caption="Log records of this trace"
              sortName="logs"
              columns={columns}
              rows={items.toReversed()}
              keyOf={(each) => JSON.stringify([each.time_unix_nano, each.span_id, each.body])}
              empty="No log record names this trace."
            />
            {next_cursor !== null && (
              <TooLarge shown={items.length} how="tidemark query logs --trace has the others." />
            )}
            <Ran of={ran} onAgain={found.reload} store="clickhouse" label="Query of log records" />
          </>
        )}
      </Queried>
    </>
  );
};
