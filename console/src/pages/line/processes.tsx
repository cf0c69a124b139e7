import { bytes, code, column, duration, number, share, text, word } from '../../parts/columns.tsx';
import { durationText } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Badge, type Tone } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import type { Line } from './layout.ts';

type Process = Line['processes'][number];

const states: Readonly<Record<Process['state'], readonly [Tone, string]>> = {
  ready: ['good', 'ready'],
  not_ready: ['warn', 'not ready'],
  gone: ['bad', 'gone'],
};

const State = ({ process }: { process: Process }) => {
  const [tone, words] = states[process.state];
  return (
    <>
      <Badge tone={tone}>{words}</Badge>
      {process.state === 'gone' && (
        <span class="quiet"> silent for {durationText(process.silent_seconds * 1000)}</span>
      )}
      {[...process.failing, ...process.degraded].map(({ check, why }) => (
        <div key={check}>
          <code>{check}</code>: <Hostile text={why} max={120} />
        </div>
      ))}
    </>
  );
};

const processColumns = (at: number): Column<Process>[] => [
  word('Role', ({ role }) => role),
  column(
    'State',
    (process) => <State process={process} />,
    ({ state }) => state,
  ),
  text('Process', ({ host, pid }) => `${host}:${pid}`, 50),
  code('Version', ({ version }) => version),
  number('Items/s', (each) => (each.role === 'metadata' ? 0 : each.items_per_second)),
  bytes('Bytes/s', (each) => each.bytes_per_second),
  share('CPU', ({ cpu }) => cpu),
  duration('Loop p99', (each) => each.event_loop_p99_ms),
  bytes('Memory', (each) => each.rss_bytes),
  duration('Up', (each) => Math.max(0, at - each.started_at) * 1000),
];

/** Every process that was there in the last two minutes, with what it uses. */
export const Processes = ({ processes, at }: { processes: readonly Process[]; at: number }) => (
  <Table
    caption="Processes"
    sortName="processes"
    rows={processes}
    keyOf={({ id }) => id}
    empty="No process reports that it runs. Start ingress, transfer and metadata, and check their connection to NATS."
    columns={processColumns(at)}
  />
);

const roles = ['ingress', 'transfer', 'metadata'] as const;

type DotsProps = { processes: readonly Process[]; role: (typeof roles)[number]; x: number; y: number };

/** The processes of a role as dots; the shape is the state too. */
export const Dots = ({ processes, role, x, y }: DotsProps) =>
  processes
    .filter((each) => each.role === role)
    .slice(0, 12)
    .map((each, index) => (
      <g key={each.id} class={`dot ${states[each.state][0]}`} transform={`translate(${x + index * 16} ${y})`}>
        <title>{`${role} ${each.host}:${each.pid}: ${states[each.state][1]}`}</title>
        {each.state === 'ready' ? (
          <circle r="5" />
        ) : each.state === 'gone' ? (
          <path d="M-5 -5L5 5M5 -5L-5 5" />
        ) : (
          <path d="M0 -6L6 5H-6Z" />
        )}
      </g>
    ));
