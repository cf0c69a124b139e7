import { get } from '../../api/client.ts';
import { Copy } from '../../parts/copy.tsx';
import { counted, durationText, Time } from '../../parts/format.tsx';
import { plainText } from '../../parts/plain-text.ts';
import { Queried, Ran, useQuery } from '../../parts/query.tsx';
import { Badge, TooLarge } from '../../parts/states.tsx';
import { href } from '../../shell/router.ts';
import { LogsOfTrace } from './logs.tsx';
import type { TraceAnswer } from './tree.ts';
import { Waterfall } from './waterfall.tsx';

const Facts = ({ trace }: { trace: TraceAnswer }) => {
  const { spans, spans_total, duration_ns, start_unix_nano } = trace;
  const errors = spans.filter(({ status }) => status === 'Error').length;
  const services = new Set(spans.map(({ service }) => service)).size;
  return (
    <>
      <p class="row">
        <Time at={Number(start_unix_nano) / 1e6} />
        <span>{durationText(duration_ns / 1e6)}</span>
        <span>{counted(spans_total, 'span')}</span>
        <span>{counted(services, 'service')}</span>
        {errors > 0 && <Badge tone="bad">{counted(errors, 'error')}</Badge>}
        <code>{trace.trace_id}</code>
        <Copy text={trace.trace_id} what="the trace id" />
        <a href={href('/traces')}>All traces</a>
      </p>
      {trace.truncated && (
        <TooLarge
          shown={spans.length}
          total={spans_total}
          how="They began first; parents beyond them count as missing. The others are in ClickHouse."
        />
      )}
    </>
  );
};

export const Trace = ({ id }: { id: string }) => {
  const loaded = useQuery(id, (signal) => get('/api/v1/traces/{id}', { path: { id }, signal }));
  const root =
    loaded.data?.spans.find(({ parent_span_id }) => parent_span_id === '') ?? loaded.data?.spans[0];
  return (
    <>
      <h1>
        Trace{' '}
        {root !== undefined && (
          <bdi>
            {plainText(root.service, 40)}: {plainText(root.name)}
          </bdi>
        )}
      </h1>
      <Queried of={loaded}>
        {(trace) => (
          <>
            <Facts trace={trace} />
            <Waterfall trace={trace} />
            <Ran of={trace} onAgain={loaded.reload} store="clickhouse" />
            <LogsOfTrace trace={trace} />
          </>
        )}
      </Queried>
    </>
  );
};
