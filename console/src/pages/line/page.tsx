import './line.css';
import { useEffect, useState } from 'preact/hooks';
import { get } from '../../api/client.ts';
import { useLive, useLiveState } from '../../api/live.ts';
import { useLoad } from '../../api/use.ts';
import { Sparkline } from '../../charts/small.tsx';
import { Button } from '../../parts/button.tsx';
import { counted, durationText, numberText, Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Await, Badge, Loading } from '../../parts/states.tsx';
import { href } from '../../shell/router.ts';
import { Account } from './account.tsx';
import { LineDrawing } from './drawing.tsx';
import { isLine, type Line } from './layout.ts';
import { Processes } from './processes.tsx';
import { Runbook, runbookQuery } from './runbook.tsx';

const keptSeconds = 120;
const staleMs = 5_000;

/** The newest line, those of the last two minutes, and when the newest one came. */
const useLine = (isPaused: boolean) => {
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [cameAt, setCameAt] = useState(Date.now());
  const add = (line: Line): void => {
    setCameAt(Date.now());
    setLines((former) => [...former.filter(({ at }) => at > line.at - keptSeconds && at < line.at), line]);
  };
  // The page is drawn at once, also where the stream is not: then the figures come every five seconds.
  const first = useLoad('line', async (signal) => {
    const line = await get('/api/v1/line', { signal });
    if (isLine(line)) add(line);
  });
  useLive(isPaused ? undefined : 'line', (data) => isLine(data) && add(data));
  return { lines, cameAt, first };
};

/** Renders the component each second. */
const useNow = (): number => {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
};

/** Says when the figures are not those of this second, and why. */
const Freshness = ({ line, cameAt, isPaused }: { line: Line; cameAt: number; isPaused: boolean }) => {
  const state = useLiveState();
  const age = useNow() - cameAt;
  const words = isPaused
    ? 'Paused.'
    : state === 'polling'
      ? 'Not live: the stream was refused, as with too many readers. Figures come every 5 s.'
      : age > staleMs || state === 'lost'
        ? 'Not live: metadata does not answer. The page tries again by itself; receivers and transfer work without metadata.'
        : undefined;
  if (words === undefined) return null;
  return (
    <p class="state failed">
      {words} Figures of <Time at={line.at} seconds />
      {age > staleMs && `, ${durationText(Math.floor(age / 1000) * 1000)} old`}.
    </p>
  );
};

const Troubles = ({ line }: { line: Line }) => {
  const isKnown = line.account?.adds_up === true && line.account_why === null;
  if (line.troubles.length === 0)
    return (
      <p class="troubles-none">
        {isKnown ? <Badge tone="good">No troubles</Badge> : <Badge tone="warn">account not known</Badge>}{' '}
        <span class="quiet">
          {isKnown ? 'All roles run, the stores answer, nothing waits.' : 'There are no other troubles.'}
        </span>
      </p>
    );
  return (
    <>
      <h2>{counted(line.troubles.length, 'trouble')}</h2>
      <ul class="troubles">
        {line.troubles.map(({ code, severity, text, remedy, runbook }) => (
          <li key={`${code} ${text}`} class={severity}>
            <p>
              <Badge tone={severity === 'page' ? 'bad' : 'warn'}>
                {severity === 'page' ? 'act now' : 'within the day'}
              </Badge>{' '}
              <strong>
                <Hostile text={text} max={300} />
              </strong>
            </p>
            <p>
              {remedy} <a href={href('/', { [runbookQuery]: runbook.split('#')[1] ?? '' })}>Runbook</a>
            </p>
          </li>
        ))}
      </ul>
    </>
  );
};

const tiles = [
  ['Accepted', 'accepted_items_per_second', 'items/s', undefined],
  ['Stored', 'stored_items_per_second', 'items/s', undefined],
  ['Dropped', 'dropped_items_per_second', 'items/s', '/drops'],
  ['Dead-lettered', 'dead_lettered_items_per_second', 'items/s', '/dead-letters'],
  ['Refused', 'refused_requests_per_second', 'requests/s', '/drops'],
] as const satisfies readonly (readonly [string, keyof Line['totals'], string, string | undefined])[];

/** Each second of the last two minutes; null where the page was not there. */
const secondsOf = (lines: readonly Line[], key: keyof Line['totals']): (number | null)[] => {
  const newest = Math.round(lines.at(-1)?.at ?? 0);
  const bySecond = new Map(lines.map(({ at, totals }) => [Math.round(at), totals[key]]));
  return Array.from(
    { length: keptSeconds },
    (_, index) => bySecond.get(newest - keptSeconds + 1 + index) ?? null,
  );
};

const Totals = ({ line, lines }: { line: Line; lines: readonly Line[] }) => (
  <dl class="tiles">
    {tiles.map(([title, key, unit, path]) => (
      <div key={key} class={path !== undefined && line.totals[key] > 0 ? 'loud' : ''}>
        <dt>{path === undefined ? title : <a href={href(path)}>{title}</a>}</dt>
        <dd>
          <strong class="figure">{numberText(line.totals[key])}</strong> <span class="quiet">{unit}</span>
        </dd>
        <dd>
          <Sparkline label={`${title}, last two minutes`} values={secondsOf(lines, key)} width={150} />
        </dd>
      </div>
    ))}
  </dl>
);

const Page = () => {
  const [isPaused, setIsPaused] = useState(false);
  const { lines, cameAt, first } = useLine(isPaused);
  const line = lines.at(-1);
  return (
    <>
      <div class="row">
        <h1>Line</h1>
        <Button aria-pressed={isPaused} onClick={() => setIsPaused(!isPaused)}>
          {isPaused ? 'Continue' : 'Pause'}
        </Button>
      </div>
      {line === undefined ? (
        <Await of={first}>{() => <Loading what="Waiting for figures" />}</Await>
      ) : (
        <>
          <Freshness line={line} cameAt={cameAt} isPaused={isPaused} />
          <Troubles line={line} />
          <Totals line={line} lines={lines} />
          <LineDrawing line={line} />
          <Account account={line.account} why={line.account_why} />
          <h2>Processes</h2>
          <Processes processes={line.processes} at={line.at} />
        </>
      )}
      <Runbook />
    </>
  );
};

export default Page;
