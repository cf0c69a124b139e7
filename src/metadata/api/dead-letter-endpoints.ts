import { z } from 'zod';
import type { DeadLetterAdmin } from '../../dead-letters/admin.ts';
import { itemsOf, type Letter, type LetterFilter, letterPipelines } from '../../dead-letters/dead-letter.ts';
import { showBytes } from '../../dead-letters/preview.ts';
import { Fault } from '../../model/fault.ts';
import { fieldFault, notFound } from '../problem.ts';
import type { ActProgress } from '../pulse/acts.ts';
import { pageQuery } from '../records/listing.ts';
import { actionRequestSchema, operator } from '../records/requests.ts';
import { pageOf } from './contract.ts';
import type { ApiDeps } from './deps.ts';
import { type AuditTarget, type Endpoint, endpoint, type Input } from './endpoint.ts';
import type { Note } from './noting.ts';
import { idParams } from './params.ts';
import { reasonFilter } from './reason-filter.ts';

const tag = 'Dead letters';

const letterShape = {
  sequence: z.int().meta({ description: 'Its id' }),
  at: z.int().meta({ description: 'Time of the dead-lettering, Unix seconds' }),
  reason: z.string(),
  error: z.string(),
  data_id: z.int().nullable(),
  app_id: z.int().nullable(),
  table: z.string().nullable(),
  uid: z.string().nullable(),
  items: z.int().meta({ description: 'Number of its points, spans, log records or data points' }),
  redrives: z.int().meta({ description: 'Number of earlier redrives' }),
  bytes: z.int().meta({ description: 'Size' }),
};

const orphanShape = {
  orphan: z.boolean().nullable().meta({
    description:
      'No record counts its items as dead-lettered: they have another outcome already. Null while ClickHouse does not answer',
  }),
};

const letterSchema = z.strictObject(letterShape).meta({ id: 'DeadLetter' });

const listedSchema = z.strictObject({ ...letterShape, ...orphanShape }).meta({ id: 'ListedDeadLetter' });

const shownSchema = z
  .strictObject({
    ...letterShape,
    ...orphanShape,
    stream: z.string(),
    subject: z.string(),
    stream_sequence: z.int(),
    is_redrivable: z.boolean(),
    shown: z.strictObject({
      form: z.enum(['rows', 'text', 'base64']),
      rows: z.array(z.record(z.string(), z.unknown())).optional(),
      text: z.string().optional(),
      cut: z.int().meta({ description: 'Number of rows or bytes that are not shown' }),
    }),
  })
  .meta({ id: 'ShownDeadLetter' });

const view = (letter: Letter): z.output<typeof letterSchema> => {
  const { sequence, at, header, bytes } = letter;
  return {
    sequence,
    at: Math.floor(at / 1000),
    reason: header.reason,
    error: header.error,
    data_id: header.dataId ?? null,
    app_id: header.appId ?? null,
    table: header.table ?? null,
    uid: header.uid ?? null,
    items: itemsOf(letter),
    redrives: header.redrive,
    bytes: bytes.length,
  };
};

const isRedrivable = async (admin: DeadLetterAdmin, letter: Letter): Promise<boolean> => {
  try {
    await admin.checkRedrive(letter);
    return true;
  } catch (error) {
    if (error instanceof Fault && error.kind === 'permanent') return false;
    throw error;
  }
};

const shownView = async (
  { deadLetters: admin, orphans }: ApiDeps,
  letter: Letter,
): Promise<z.output<typeof shownSchema>> => {
  const { stream, subject, streamSequence } = letter.header;
  const { rows, ...shown } = showBytes(letter);
  const [orphan = null] = await orphans.areOrphans([letter]);
  return {
    ...view(letter),
    orphan,
    stream,
    subject,
    stream_sequence: streamSequence,
    is_redrivable: await isRedrivable(admin, letter),
    shown: { ...shown, ...(rows === undefined ? {} : { rows: [...rows] }) },
  };
};

const integerText = z
  .string()
  .regex(/^\d{1,12}$/, 'must be an integer')
  .transform(Number)
  .pipe(z.int().min(0).max(999_999_999_999));

const pipeline = z
  .enum(letterPipelines, `must be one of ${letterPipelines.join(', ')}`)
  .optional()
  .meta({ description: 'Only those of this pipeline' });

const listQuery = z.strictObject({
  ...pageQuery,
  pipeline,
  reason: reasonFilter,
  data_id: integerText.optional(),
  app_id: integerText.optional(),
  table: z.string().max(256).optional(),
  since: integerText.optional().meta({ description: 'Dead-lettered at or after this time, Unix seconds' }),
  until: integerText.optional().meta({ description: 'Dead-lettered before this time, Unix seconds' }),
});

const count = z.int('must be an integer').min(0).max(999_999_999_999);
const sequencesMax = 1_000;
const limitMax = 1_000;

const bulkRequest = z
  .strictObject({
    pipeline,
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

type BulkRequest = z.output<typeof bulkRequest>;

const bulkAnswer = z
  .strictObject({
    matched: z.int().meta({ description: 'Number of matching dead letters' }),
    items: z.int().meta({
      description:
        'Points, spans, log records or data points in the processed dead letters (or in those of a dry run)',
    }),
    done: z.int(),
    failed: z.array(z.strictObject({ sequence: z.int(), code: z.string(), detail: z.string() })),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: 'Not null: more follow, repeat the call with this cursor' }),
    first_cursor: z
      .string()
      .nullable()
      .meta({
        description:
          'Begins again with the oldest one, and leaves those that came after the first call: an act after a dry run. Null with `sequences`',
        examples: ['1-40'],
      }),
  })
  .meta({ id: 'DeadLettersDone' });

type Done = z.output<typeof bulkAnswer>;

const filterOf = (
  query: Pick<BulkRequest, 'pipeline' | 'reason' | 'data_id' | 'app_id' | 'table' | 'since' | 'until'>,
): LetterFilter => ({
  pipeline: query.pipeline,
  reason: query.reason,
  dataId: query.data_id,
  appId: query.app_id,
  table: query.table,
  since: query.since === undefined ? undefined : query.since * 1000,
  until: query.until === undefined ? undefined : query.until * 1000,
});

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
  readonly act: (letter: Letter) => Promise<void>;
  readonly check?: (letter: Letter) => Promise<void>;
};

const doEach = async (
  admin: DeadLetterAdmin,
  request: BulkRequest,
  { act, check }: Act,
  note: Note,
  progress: ActProgress,
): Promise<Done> => {
  const { letters, next, first } = await matchingLetters(admin, request);
  progress.matched(letters.length);
  const matched = letters.length;
  const done: Done = { matched, items: 0, done: 0, failed: [], next_cursor: next, first_cursor: first };
  for (const letter of letters) {
    try {
      if (request.dry_run === true) await check?.(letter);
      else {
        await act(letter);
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

/** The same, shown to readers of the live view while it lasts. */
const doShown = async (
  { deadLetters: admin, pulse }: Pick<ApiDeps, 'deadLetters' | 'pulse'>,
  request: BulkRequest,
  act: Act & { readonly name: 'redrive' | 'purge' },
  note: Note,
): Promise<{ body: Done }> => {
  const progress = pulse.acts.begin(act.name, request.dry_run === true);
  try {
    return { body: await doEach(admin, request, act, note, progress) };
  } finally {
    progress.end();
  }
};

const letterOf = async (admin: DeadLetterAdmin, sequence: number): Promise<Letter> => {
  const letter = await admin.get(sequence);
  if (letter === undefined) throw notFound(`dead letter ${sequence}`);
  return letter;
};

/** The sequence that a cursor of the list has. Throws the permanent Fault `invalid_value` for any other text. */
const sequenceOf = (cursor: string): number => {
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const sequence = Number(text);
  if (Number.isSafeInteger(sequence) && sequence > 0 && String(sequence) === text) return sequence;
  throw fieldFault('invalid_value', 'cursor', 'is not a next_cursor of this list');
};

const readingEndpoints = (deps: ApiDeps, { deadLetters: admin, orphans } = deps): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/v1/dead-letters',
    tag,
    summary: 'Lists the dead letters, newest first; a short page may have a cursor, too',
    role: 'viewer',
    query: listQuery,
    answer: pageOf(listedSchema),
    run: async ({ query }) => {
      const before = query.cursor === undefined ? undefined : sequenceOf(query.cursor);
      const { letters, next } = await admin.list(filterOf(query), { limit: query.limit, before });
      const areOrphans = await orphans.areOrphans(letters);
      return {
        body: {
          items: letters.map((letter, index) => ({ ...view(letter), orphan: areOrphans[index] ?? null })),
          next_cursor: next === undefined ? null : Buffer.from(String(next)).toString('base64url'),
        },
      };
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/dead-letters/{id}',
    tag,
    summary:
      'Shows a dead letter with its bytes in readable form, truncated; values under names of secrets are masked',
    role: 'viewer',
    params: idParams,
    answer: shownSchema,
    run: async ({ params }) => ({ body: await shownView(deps, await letterOf(admin, params.id)) }),
  }),
];

/** One dead letter by its sequence, with the steps that both acts on it share. */
const act = async (
  { params, note }: Input<{ id: number }, undefined, unknown>,
  admin: DeadLetterAdmin,
  action: 'redrive' | 'purge',
): Promise<{ body: z.output<typeof letterSchema> }> => {
  const letter = await letterOf(admin, params.id);
  await admin[action](letter);
  note({ kind: 'dead_letter', id: String(params.id), before: view(letter), after: undefined });
  return { body: view(letter) };
};

/** A dry run changes nothing, and would read like a purge in the audit log. */
const auditOf = (
  action: 'dead_letter.redrive' | 'dead_letter.purge',
  { dry_run: isDry }: BulkRequest,
): AuditTarget | undefined => (isDry === true ? undefined : { action, kind: 'dead_letter', id: undefined });

/** The dead letters (architecture 6.4): read, redrive, purge. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table of endpoints.
export const deadLetterEndpoints = (deps: ApiDeps): Endpoint[] => {
  const { deadLetters: admin } = deps;
  return [
    ...readingEndpoints(deps),
    endpoint({
      method: 'POST',
      path: '/api/v1/dead-letters/redrive',
      tag,
      summary: 'Redrives matching dead letters, oldest first; each is removed once its stream has stored it',
      role: 'editor',
      body: bulkRequest,
      answer: bulkAnswer,
      audit: (_params, body) => auditOf('dead_letter.redrive', body),
      run: ({ body, note }) =>
        doShown(deps, body, { name: 'redrive', act: admin.redrive, check: admin.checkRedrive }, note),
    }),
    endpoint({
      method: 'POST',
      path: '/api/v1/dead-letters/purge',
      tag,
      summary: 'Purges matching dead letters for ever; their items count as dropped by purged_by_operator',
      role: 'admin',
      needsProof: true,
      body: bulkRequest,
      answer: bulkAnswer,
      audit: (_params, body) => auditOf('dead_letter.purge', body),
      run: ({ body, note }) => doShown(deps, body, { name: 'purge', act: admin.purge }, note),
    }),
    endpoint({
      method: 'POST',
      path: '/api/v1/dead-letters/{id}/redrive',
      tag,
      summary: 'Redrives a dead letter; it is removed once its stream has stored it',
      role: 'editor',
      params: idParams,
      body: actionRequestSchema,
      answer: letterSchema,
      audit: ({ id }) => ({ action: 'dead_letter.redrive', kind: 'dead_letter', id: String(id) }),
      run: (input) => act(input, admin, 'redrive'),
    }),
    endpoint({
      method: 'DELETE',
      path: '/api/v1/dead-letters/{id}',
      tag,
      summary: 'Purges a dead letter for ever; its items count as dropped by purged_by_operator',
      role: 'admin',
      needsProof: true,
      params: idParams,
      body: actionRequestSchema,
      answer: letterSchema,
      audit: ({ id }) => ({ action: 'dead_letter.purge', kind: 'dead_letter', id: String(id) }),
      run: (input) => act(input, admin, 'purge'),
    }),
    endpoint({
      method: 'POST',
      path: '/api/v1/consumers/{pipeline}/resume',
      tag,
      summary:
        'Resumes a stopped consumer (too many items went to the dead letters) in every transfer process',
      role: 'editor',
      params: z.strictObject({ pipeline: z.enum(letterPipelines) }),
      body: actionRequestSchema,
      answer: z.strictObject({ pipeline: z.string() }),
      audit: ({ pipeline }) => ({ action: 'consumer.resume', kind: 'consumer', id: pipeline }),
      run: async ({ params: { pipeline }, note }) => {
        await deps.resumeConsumer(pipeline);
        note({ kind: 'consumer', id: pipeline, before: undefined, after: { resumed: true } });
        return { body: { pipeline } };
      },
    }),
  ];
};
