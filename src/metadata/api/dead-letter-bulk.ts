import { z } from 'zod';
import { type BulkCall, type DeadLetterAdmin, newCall } from '../../dead-letters/admin.ts';
import { itemsOf, type Letter } from '../../dead-letters/dead-letter.ts';
import { counted } from '../../model/counted.ts';
import { Fault } from '../../model/fault.ts';
import type { bulkAnswer } from '../answers/dead-letters.ts';
import { fieldFault } from '../problem.ts';
import type { ActProgress } from '../pulse/acts.ts';
import type { PulseReads } from '../pulse/open-pulse.ts';
import { operator } from '../records/requests.ts';
import { filterOf, pipelineFilter, view } from './dead-letter-shapes.ts';
import type { ApiDeps } from './deps.ts';
import type { Note } from './noting.ts';
import { reasonFilter } from './reason-filter.ts';

// Acts on many dead letters in one call.

const count = z.int('must be an integer').min(0).max(999_999_999_999);
const sequencesMax = 1_000;
const limitMax = 1_000;

export const bulkRequest = z
  .strictObject({
    pipeline: pipelineFilter,
    reason: reasonFilter,
    data_id: count.optional(),
    app_id: count.optional(),
    table: z.string('must be text').max(256).optional(),
    since: count.optional().meta({ description: 'Dead-lettered at or after this time, Unix seconds' }),
    until: count.optional().meta({ description: 'Dead-lettered before this time, Unix seconds' }),
    sequences: z
      .array(count, 'must be a list')
      .max(sequencesMax)
      .optional()
      .meta({ description: 'Exactly these; without a filter, `all` or a cursor' }),
    all: z.boolean().optional().meta({ description: 'Required as true when no filter is given' }),
    dry_run: z.boolean().optional().meta({ description: 'Report the effect, change nothing' }),
    limit: z.int('must be an integer').min(1).max(limitMax).default(limitMax),
    cursor: z
      .string()
      .regex(/^\d{1,15}-\d{1,15}$/, 'is not a next_cursor of this API')
      .optional()
      .meta({
        description: 'next_cursor of the previous call, or first_cursor of a dry run',
        examples: ['12-40'],
      }),
    operator,
  })
  .meta({ examples: [{ reason: 'row_refused' }] });

export type BulkRequest = z.output<typeof bulkRequest>;

type Done = z.output<typeof bulkAnswer>;

/** Named ones are those that are meant: what would narrow or widen them is refused, because a purge is for ever. */
const refuseBesideSequences = ({ all, cursor, ...request }: BulkRequest, named: number): void => {
  const others = { all, cursor, ...filterOf(request), limit: request.limit < named ? true : undefined };
  if (Object.values(others).every((value) => value === undefined)) return;
  throw fieldFault(
    'invalid_value',
    'sequences',
    'cannot be combined with a filter, all, cursor, or a limit below their number',
  );
};

/** The matching dead letters: those of the sequences, or from the oldest up to the newest one at the first call. */
const matchingLetters = async (
  admin: DeadLetterAdmin,
  request: BulkRequest,
): Promise<{ letters: readonly Letter[]; next: string | null; first: string | null }> => {
  if (request.sequences !== undefined) {
    const sequences = [...new Set(request.sequences)];
    refuseBesideSequences(request, sequences.length);
    const found = await Promise.all(sequences.map((sequence) => admin.get(sequence)));
    return { letters: found.filter((letter) => letter !== undefined), next: null, first: null };
  }
  const filter = filterOf(request);
  if (request.all !== true && Object.values(filter).every((value) => value === undefined))
    throw fieldFault('invalid_value', 'all', 'give a filter, or all: true');
  const [from = '1', last] = request.cursor?.split('-') ?? [];
  const end = last === undefined ? await admin.last() : Number(last);
  const page = await admin.listUpwards(filter, { limit: request.limit, from: Number(from), last: end });
  const next = page.next === undefined ? null : `${page.next}-${end}`;
  return { letters: page.letters, next, first: `1-${end}` };
};

/** The act on each dead letter, and the check in its place where the call changes nothing. */
type Act = {
  readonly act: (letter: Letter, call: BulkCall) => Promise<void>;
  readonly check: (letter: Letter, call: BulkCall) => Promise<void>;
  /** What the checks share; by default nothing. */
  readonly beginChecks?: (letters: readonly Letter[]) => Promise<BulkCall>;
};

/** Who learns of a call: its audit, and its caller for as long as it waits. */
type Reported = { readonly note: Note; readonly signal: () => AbortSignal };

const callerGone = ({ done }: Done, matched: number): Fault =>
  new Fault(
    'permanent',
    'caller_gone',
    `the caller went away: ${done} of ${counted(matched, 'dead letter')} done`,
  );

const doEach = async (
  admin: DeadLetterAdmin,
  request: BulkRequest,
  { act, check, beginChecks }: Act,
  { note, signal }: Reported,
  progress: ActProgress,
): Promise<Done> => {
  const caller = signal();
  const { letters, next, first } = await matchingLetters(admin, request);
  progress.matched(letters.length);
  const matched = letters.length;
  const done: Done = { matched, items: 0, done: 0, failed: [], next_cursor: next, first_cursor: first };
  const isDry = request.dry_run === true;
  const call = isDry && beginChecks !== undefined ? await beginChecks(letters) : newCall();
  for (const letter of letters) {
    // Nobody would learn what became of the others. Without an act no audit entry stays; else it has those that were done, and this code.
    if (caller.aborted) throw callerGone(done, matched);
    try {
      if (isDry) await check(letter, call);
      else {
        await act(letter, call);
        note({ kind: 'dead_letter', id: String(letter.sequence), before: view(letter), after: undefined });
      }
      done.done++;
      done.items += itemsOf(letter);
      progress.done(itemsOf(letter));
    } catch (error) {
      // An error that is not permanent ends the call: the rest would fail the same way. The audit records the finished part.
      if (!(error instanceof Fault) || error.kind !== 'permanent') throw error;
      done.failed.push({ sequence: letter.sequence, code: error.code, detail: error.message });
      progress.failed();
    }
  }
  return done;
};

/** Redrives or purges what the request names until its caller is gone, shown to readers of the live view while it lasts. */
export const doShown = async (
  { deadLetters: admin, pulse }: Pick<ApiDeps, 'deadLetters'> & { readonly pulse: Pick<PulseReads, 'acts'> },
  request: BulkRequest,
  act: Act & { readonly name: 'redrive' | 'purge' },
  reported: Reported,
): Promise<{ body: Done }> => {
  const progress = pulse.acts.begin(act.name, request.dry_run === true);
  try {
    return { body: await doEach(admin, request, act, reported, progress) };
  } finally {
    progress.end();
  }
};
