import { z } from 'zod';
import type { DeadLetterAdmin } from '../../dead-letters/admin.ts';
import { type Letter, letterPipelines } from '../../dead-letters/dead-letter.ts';
import { showBytes } from '../../dead-letters/preview.ts';
import { Fault } from '../../model/fault.ts';
import { bulkAnswer, letterSchema, listedSchema, shownSchema } from '../answers/dead-letters.ts';
import { fieldFault, notFound } from '../problem.ts';
import { actionRequestSchema } from '../records/requests.ts';
import { pageOf } from './contract.ts';
import { type BulkRequest, bulkRequest, doShown } from './dead-letter-bulk.ts';
import { filterOf, listQuery, view } from './dead-letter-shapes.ts';
import type { ApiDeps } from './deps.ts';
import { type AuditTarget, type Endpoint, endpoint, type Input } from './endpoint.ts';
import { idParams } from './params.ts';

const tag = 'Dead letters';

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
      run: (input) =>
        doShown(
          deps,
          input.body,
          { name: 'redrive', act: admin.redrive, check: admin.checkRedrive, beginChecks: admin.beginChecks },
          input,
        ),
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
      run: (input) =>
        doShown(deps, input.body, { name: 'purge', act: admin.purge, check: admin.checkPurge }, input),
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
