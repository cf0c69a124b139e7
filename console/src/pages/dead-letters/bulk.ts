import type { Period } from '../../api/clock.ts';
import { hasLists } from '../../api/event.ts';
import type { components } from '../../api/schema.d.ts';
import { counted } from '../../parts/figures.ts';
import { ownerQuery } from '../../parts/owners.tsx';
import { type Pipeline as SignalPipeline, pipelines as signalPipelines } from '../../parts/signals.ts';

// What is redriven or purged, how, and in which words: without the browser, so that it can be tested.

/** The filter of the list in the API's names; times in Unix seconds. */
export type Filter = {
  readonly pipeline?: Pipeline;
  readonly data_id?: number;
  readonly app_id?: number;
  readonly reason?: string;
  readonly table?: string;
  readonly since?: number;
  readonly until?: number;
};

export type Pipeline = SignalPipeline | 'ledger';
/** The consumers whose messages may become dead letters. */
export const pipelines: readonly Pipeline[] = [...signalPipelines, 'ledger'];

export type Act = 'redrive' | 'purge';
export type Done = components['schemas']['DeadLettersDone'];

/** What a dry run and its act are about: the same object for both. */
export type Target = Filter & { readonly sequences?: number[]; readonly all?: true };

/** The filter in an address; undefined where it cannot be read, so that no act takes it for "all". */
export const filterOf = (query: URLSearchParams, range: Period): Filter | undefined => {
  const owner = ownerQuery(query.get('owner') ?? '');
  const name = query.get('pipeline') ?? '';
  const pipeline = pipelines.find((each) => each === name);
  if (owner === undefined || (name !== '' && pipeline === undefined)) return undefined;
  const reason = query.get('reason') ?? '';
  const table = query.get('table') ?? '';
  return {
    ...(pipeline === undefined ? {} : { pipeline }),
    ...owner,
    ...(reason === '' ? {} : { reason }),
    ...(table === '' ? {} : { table }),
    ...(range.since === 0 ? {} : { since: range.since }),
    ...(range.until === undefined ? {} : { until: range.until }),
  };
};

/** The sequences that are picked in an address; undefined where it has anything else, so that no act takes it for none. */
export const pickedOf = (text: string): number[] | undefined => {
  const picked = text === '' ? [] : text.split(',');
  return picked.every((each) => /^[1-9]\d{0,11}$/.test(each)) ? [...new Set(picked.map(Number))] : undefined;
};

/** The picked ones, else those of the filter; `all` has to be said where there is neither. */
export const targetOf = (filter: Filter, picked: readonly number[]): Target => {
  if (picked.length > 0) return { sequences: [...picked] };
  return Object.keys(filter).length === 0 ? { all: true } : filter;
};

/** Items that one call takes: as many as the CLI's. */
const limit = 1_000;

/** Calls until every matching dead letter is done, or the reader has left; `onPart` gets the sum after each call; `first` is that of a dry run. */
export const runAll = async (
  ask: (body: Target & { dry_run: boolean; limit: number; cursor?: string }) => Promise<Done>,
  target: Target,
  isDryRun: boolean,
  onPart: (sum: Done) => void,
  isWanted: () => boolean,
  first: string | null = null,
): Promise<void> => {
  let sum: Done = { matched: 0, items: 0, done: 0, failed: [], next_cursor: first, first_cursor: first };
  do {
    const cursor = sum.next_cursor;
    const part = await ask({ ...target, dry_run: isDryRun, limit, ...(cursor === null ? {} : { cursor }) });
    sum = {
      ...part,
      matched: sum.matched + part.matched,
      items: sum.items + part.items,
      done: sum.done + part.done,
      failed: [...sum.failed, ...part.failed],
    };
    onPart(sum);
  } while (sum.next_cursor !== null && isWanted());
};

const participles: Readonly<Record<Act, string>> = { redrive: 'redriven', purge: 'purged' };

/** The CLI's sentence: `3 dead letters (12 items) would be redriven`. */
export const doneText = ({ done, items }: Done, act: Act, isDryRun: boolean): string =>
  `${counted(done, 'dead letter')} (${counted(items, 'item')}) ${isDryRun ? 'would be ' : ''}${participles[act]}`;

/** An act that some process runs, of the console or of the CLI. */
export type RunningAct = {
  readonly id: string;
  readonly act: string;
  readonly dry_run: boolean;
  readonly started_at: number;
  readonly matched: number;
  readonly done: number;
  readonly failed: number;
  readonly has_ended: boolean;
};

const isAct = (each: unknown): each is RunningAct => typeof each === 'object' && each !== null;

/** The acts of an event `dead_letters`; none where it has another form. */
export const actsOf = (data: unknown): readonly RunningAct[] =>
  hasLists(data, 'acts') ? data.acts.filter(isAct) : [];

/** A consumer that does not work, and in how many of its processes. */
export type StoppedConsumer = {
  readonly pipeline: Pipeline;
  readonly why: 'stopped' | 'held';
  readonly processes: number;
  readonly of: number;
};

/** Messages that a pipeline has not settled. `METRICS-b` of a further QuestDB instance is a stream of `metrics`. */
export const waitingOf = (
  streams: readonly Pick<
    components['schemas']['Line']['streams'][number],
    'stream' | 'pending' | 'ack_pending'
  >[],
  pipeline: Pipeline,
): number =>
  streams
    .filter(({ stream }) => stream.split('-')[0]?.toLowerCase() === pipeline)
    .reduce((sum, { pending, ack_pending }) => sum + pending + ack_pending, 0);

type SeenProcess = Pick<components['schemas']['ProcessWithSeries'], 'state' | 'pipelines'>;

/** The consumers that wait because of dead letters. `metrics-b` of a further QuestDB instance is one of `metrics`. */
export const stoppedConsumers = (processes: readonly SeenProcess[]): StoppedConsumer[] => {
  const there = processes.filter(({ state }) => state !== 'gone');
  return pipelines.flatMap((pipeline) => {
    const own = there
      .map((each) => each.pipelines.filter(({ pipeline: label }) => label.split('-')[0] === pipeline))
      .filter((labels) => labels.length > 0);
    const count = (isSo: (label: SeenProcess['pipelines'][number]) => boolean): number =>
      own.filter((labels) => labels.some(isSo)).length;
    const stopped = count(({ breaker_open: isOpen }) => isOpen);
    const held = count(({ held_by_dead_letters: isHeld }) => isHeld);
    return [
      ...(stopped === 0 ? [] : [{ pipeline, why: 'stopped' as const, processes: stopped, of: own.length }]),
      ...(held === 0 ? [] : [{ pipeline, why: 'held' as const, processes: held, of: own.length }]),
    ];
  });
};
