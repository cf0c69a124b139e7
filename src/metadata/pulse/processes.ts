import { sumOf } from '../../model/sums.ts';
import { type Pulse, type PulseRole, pulseOrigin, readPulse } from '../../telemetry/pulse.ts';

/** A process as its pulses tell. */
export type SeenProcess = {
  readonly role: PulseRole;
  readonly id: string;
  /** What it said last. */
  readonly pulse: Pulse;
  /** It has said nothing for five seconds or more in which it would have been heard. */
  readonly isGone: boolean;
  /** Since its last pulse. */
  readonly silentSeconds: number;
  /** What its clock says now, ms since 1970; undefined for an earlier program. */
  readonly clockMs: number | undefined;
};

/** Names of the rates that are kept. */
export const seriesNames = [
  'items',
  'bytes',
  'dropped',
  'refused',
  'deadLettered',
  'cpu',
  'loopP99Ms',
] as const;
type SeriesName = (typeof seriesNames)[number];

/** A rate per second of the last two minutes, the newest last; null where no pulse came. */
export type Series = Readonly<Record<SeriesName, (number | null)[]>>;

/** About 4 KB each. */
export const processesMax = 512;
export const keptSeconds = 120;
const goneMs = 5_000;
const leadsKept = 3;

type Kept = {
  readonly role: PulseRole;
  readonly id: string;
  pulse: Pulse;
  lastAt: number;
  /** Places of the seconds, one after the other in a ring: of one name behind those of another. */
  readonly rates: Float32Array;
  /** The last second that has a place. */
  second: number;
  /** By how much its clock was ahead of `elapsed`, of the last pulses: the largest counts, because a pulse may come late. */
  leads: readonly number[];
};

const sum = (values: Readonly<Record<string, number>>): number => sumOf(Object.values(values));

/** The main rates of a process: of items that it has acknowledged or stored; of a metadata process its requests. */
export const ratesOf = ({
  ingress,
  transfer,
  metadata,
  cpu,
  loopP99Ms,
}: Pulse): Record<SeriesName, number> => {
  const own = { deadLettered: 0, cpu, loopP99Ms };
  if (ingress !== undefined) {
    const { items, bytes, dropped, refused } = ingress;
    return { items: sum(items), bytes: sum(bytes), dropped, refused, ...own };
  }
  const rates = { items: metadata?.requests ?? 0, bytes: 0, dropped: 0, refused: 0, ...own };
  for (const [label, pipeline] of Object.entries(transfer?.pipelines ?? {})) {
    rates.bytes += pipeline.bytes;
    // The ledger's items are outcomes of items.
    if (label === 'ledger') continue;
    rates.items += pipeline.items;
    rates.dropped += pipeline.dropped;
    rates.deadLettered += pipeline.deadLettered;
  }
  return rates;
};

export type Processes = {
  /** Takes a pulse from the bus; anything else is ignored and told to `onIgnored`. */
  take(payload: Uint8Array, subject: string): void;
  /** The connection is back: nobody was silent while it was away. */
  reconnected(): void;
  /** To be called each second: after five seconds without it this process slept, and nobody was silent meanwhile. */
  tick(): void;
  /** It has listened for long enough to have heard every process that is there. */
  readonly isSettled: boolean;
  /** Pulses of further processes were ignored within the last five seconds: the list lacks some. */
  readonly isFull: boolean;
  /** By role and name. A process that is silent for two minutes, or has ended in order, is forgotten. */
  list(): SeenProcess[];
  seriesOf(id: string): Series;
};

export type ProcessesOptions = {
  /** Elapsed time, ms: not a wall clock, which may be set back. */
  readonly elapsed: () => number;
  readonly onIgnored: (why: 'malformed' | 'too_many') => void;
};

const place = (name: SeriesName, second: number): number =>
  seriesNames.indexOf(name) * keptSeconds + (second % keptSeconds);

/** Notes the rates of this second. A single second without a pulse is one that came late. */
const note = (kept: Kept, second: number): void => {
  const rates = ratesOf(kept.pulse);
  const missed = Math.min(second - kept.second - 1, keptSeconds);
  for (const name of seriesNames) {
    const late = missed === 1 ? rates[name] : Number.NaN;
    for (let back = missed; back > 0; back--) kept.rates[place(name, second - back)] = late;
    kept.rates[place(name, second)] = rates[name];
  }
  kept.second = second;
};

const seriesFrom = (kept: Kept | undefined, now: number): Series => {
  const of = (name: SeriesName): (number | null)[] =>
    Array.from({ length: keptSeconds }, (_, index) => {
      const second = now - keptSeconds + 1 + index;
      if (kept === undefined || second > kept.second || second <= kept.second - keptSeconds) return null;
      const value = kept.rates[place(name, second)] ?? Number.NaN;
      return Number.isNaN(value) ? null : Number(value.toPrecision(4));
    });
  return {
    items: of('items'),
    bytes: of('bytes'),
    dropped: of('dropped'),
    refused: of('refused'),
    deadLettered: of('deadLettered'),
    cpu: of('cpu'),
    loopP99Ms: of('loopP99Ms'),
  };
};

const byName = (left: SeenProcess, right: SeenProcess): number =>
  left.role.localeCompare(right.role) ||
  left.pulse.host.localeCompare(right.pulse.host) ||
  left.pulse.pid - right.pulse.pid;

/** Since when pulses are heard without a gap. */
const createHearing = (elapsed: () => number) => {
  let since = elapsed();
  let tickedAt: number | undefined;
  const restart = (): void => {
    since = elapsed();
  };
  /** Also before each reading: after a sleep the next tick may come later than a reader. */
  const noteSleep = (): void => {
    if (tickedAt === undefined || elapsed() - tickedAt <= goneMs) return;
    restart();
    tickedAt = elapsed();
  };
  const tick = (): void => {
    noteSleep();
    tickedAt = elapsed();
  };
  /** Nobody was silent while nothing could be heard. */
  const isGone = ({ lastAt }: Kept): boolean => elapsed() - Math.max(lastAt, since) >= goneMs;
  return { since: () => since, restart, noteSleep, tick, isGone };
};

const leadsOf = ({ clockMs }: Pulse, before: readonly number[], now: number): readonly number[] =>
  clockMs === undefined ? [] : [...before, clockMs - now].slice(-leadsKept);

const silentMs = ({ lastAt }: Kept, now: number): number => Math.max(0, now - lastAt);

const seenAt = (kept: Kept, now: number, isGone: boolean): SeenProcess => ({
  role: kept.role,
  id: kept.id,
  pulse: kept.pulse,
  isGone,
  silentSeconds: Math.floor(silentMs(kept, now) / 1_000),
  clockMs: kept.leads.length === 0 ? undefined : now + Math.max(...kept.leads),
});

/** Processes by their pulses: at most `processesMax`, 120 seconds of each. */
export const createProcesses = ({ elapsed, onIgnored }: ProcessesOptions): Processes => {
  const all = new Map<string, Kept>();
  const hearing = createHearing(elapsed);
  let fullAt = Number.NEGATIVE_INFINITY;

  const forget = (): void => {
    for (const [id, kept] of all) if (silentMs(kept, elapsed()) > keptSeconds * 1_000) all.delete(id);
  };

  /** A place for one more, in case of need that of the one that is silent for longest. */
  const hasRoom = (): boolean => {
    if (all.size < processesMax) return true;
    hearing.noteSleep();
    const gone = [...all.values()].filter(hearing.isGone);
    const [oldest] = gone.toSorted((left, right) => left.lastAt - right.lastAt);
    if (oldest !== undefined) return all.delete(oldest.id);
    fullAt = elapsed();
    return false;
  };

  const keep = (role: PulseRole, id: string, pulse: Pulse): Kept | undefined => {
    const known = all.get(id);
    const lastAt = elapsed();
    const leads = leadsOf(pulse, known?.leads ?? [], lastAt);
    if (known?.role === role) return Object.assign(known, { pulse, lastAt, leads });
    forget();
    if (known !== undefined || !hasRoom()) return undefined;
    const rates = new Float32Array(seriesNames.length * keptSeconds).fill(Number.NaN);
    const second = Math.floor(elapsed() / 1_000) - 1;
    const kept: Kept = { role, id, pulse, lastAt, rates, second, leads };
    all.set(id, kept);
    return kept;
  };

  return {
    take: (payload, subject) => {
      const origin = pulseOrigin(subject);
      const pulse = origin === undefined ? undefined : readPulse(payload);
      if (origin === undefined || pulse === undefined) return onIgnored('malformed');
      if (pulse.isLast) {
        all.delete(origin.id);
        return;
      }
      const kept = keep(origin.role, origin.id, pulse);
      if (kept === undefined) return onIgnored('too_many');
      note(kept, Math.floor(elapsed() / 1_000));
    },
    reconnected: hearing.restart,
    tick: hearing.tick,
    get isSettled() {
      hearing.noteSleep();
      return elapsed() - hearing.since() >= goneMs;
    },
    get isFull() {
      return elapsed() - fullAt < goneMs;
    },
    list: () => {
      hearing.noteSleep();
      forget();
      return [...all.values()].map((kept) => seenAt(kept, elapsed(), hearing.isGone(kept))).toSorted(byName);
    },
    seriesOf: (id) => seriesFrom(all.get(id), Math.floor(elapsed() / 1_000)),
  };
};
