import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readAnswer } from '../../../src/cli/read-answer.ts';
import { shownSchema } from '../../../src/metadata/answers/dead-letters.ts';
import { policy } from '../../../src/metadata/api/contract.ts';

const schema = z.strictObject({
  items: z.array(z.strictObject({ state: z.enum(['read', 'missing']), count: z.int() })),
});

describe('an answer of a newer metadata', () => {
  it('keeps a text that its contract does not have yet, beside further fields', () => {
    const item = { state: 'sealed', count: 1 };
    const value = {
      items: [
        { state: 'read', count: 2 },
        { ...item, more: 3 },
      ],
    };
    expect(readAnswer(schema, value).data).toEqual({ items: [{ state: 'read', count: 2 }, item] });
    expect(value.items[1]).toEqual({ ...item, more: 3 });
  });

  it('keeps such a text of a policy, and of a dead letter', () => {
    const changed = { policy: { max_rate: 'per_second', points_max: 5 }, own: [] };
    expect(readAnswer(policy, { ...changed, newer: 1 }).data).toEqual(changed);
    const letter = {
      ...{ sequence: 1, at: 2, reason: 'r', error: 'e', data_id: 3, app_id: null, table: null, uid: null },
      ...{ items: 1, redrives: 0, bytes: 4, orphan: null, stream: 's', subject: 't', stream_sequence: 5 },
      ...{ is_redrivable: true, shown: { form: 'json', text: '{}', cut: 0 } },
    };
    expect(readAnswer(shownSchema, letter).data).toEqual(letter);
  });

  it('is refused where a value is of another kind, or missing', () => {
    for (const item of [{ state: 1, count: 1 }, { state: null, count: 1 }, { count: 1 }, { state: 'sealed' }])
      expect(readAnswer(schema, { items: [item] }).success).toBe(false);
    expect(readAnswer(policy, { policy: { max_rate: null }, own: [] }).success).toBe(false);
    expect(readAnswer(z.object({ version: z.literal(1) }), { version: '2' }).success).toBe(false);
  });

  it('is refused where its text would be shown as another one', () => {
    const moved = z.object({ inner: z.object({ state: z.enum(['read']) }) }).transform(({ inner }) => inner);
    expect(readAnswer(moved, { inner: { state: 'sealed' } }).success).toBe(false);
  });
});
