import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { AdminClient } from '../../../src/cli/client.ts';
import { confirmedPurge } from '../../../src/cli/dlq.ts';

/** An admin API with these answers, one after the other, and the bodies that it was asked with. */
const answering = (answers: unknown[]): { client: AdminClient; bodies: unknown[] } => {
  const bodies: unknown[] = [];
  const client: AdminClient = {
    ask: async (schema, _method, _path, request) => {
      bodies.push(JSON.parse(JSON.stringify(request?.body)));
      const json = answers.shift();
      return { value: schema.parse(json), json };
    },
    follow: async () => undefined,
  };
  return { client, bodies };
};

const done = (matched: number, next: string | null, first: string | null = '1-40') => ({
  matched,
  items: matched,
  done: matched,
  failed: [],
  next_cursor: next,
  first_cursor: first,
});

const typing = (text: string) => {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  input.end(text);
  return { input, output: Object.assign(new PassThrough(), { isTTY: true }) };
};

describe('a purge that was confirmed', () => {
  // A purge is for ever: dead letters that came while the question stood were counted to nobody.
  it('begins with the cursor of the dry run, so that nothing goes that came after it', async () => {
    const answers = [done(1_000, '17-40'), done(2, null), done(1_000, '17-40'), done(2, null)];
    const { client, bodies } = answering(answers);
    expect(await confirmedPurge(client, [], { all: true }, typing('y\n'))).toMatchObject({ matched: 1_002 });
    expect(bodies).toEqual([
      { all: true, dry_run: true, limit: 1_000 },
      { all: true, dry_run: true, limit: 1_000, cursor: '17-40' },
      { all: true, limit: 1_000, cursor: '1-40' },
      { all: true, limit: 1_000, cursor: '17-40' },
    ]);
  });

  it('has no cursor beside named ones', async () => {
    const { client, bodies } = answering([done(1, null, null), done(1, null, null)]);
    await confirmedPurge(client, [7], {}, typing('y\n'));
    expect(bodies).toEqual([
      { sequences: [7], dry_run: true, limit: 1_000 },
      { sequences: [7], limit: 1_000 },
    ]);
  });
});
