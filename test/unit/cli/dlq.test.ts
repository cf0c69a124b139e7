import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AdminClient } from '../../../src/cli/client.ts';
import { bulk, confirmedPurge, printDone } from '../../../src/cli/dlq.ts';
import { Fault } from '../../../src/model/fault.ts';

/** An admin API with these answers, one after the other, and the bodies that it was asked with. */
const answering = (answers: unknown[]): { client: AdminClient; bodies: unknown[] } => {
  const bodies: unknown[] = [];
  const client: AdminClient = {
    ask: async (schema, _method, _path, request) => {
      bodies.push(JSON.parse(JSON.stringify(request?.body)));
      const json = answers.shift();
      if (json instanceof Error) throw json;
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

const away = new Fault('transient', 'admin_unreachable', 'the admin API is away');
const exitCode = process.exitCode;

describe('an act of several calls', () => {
  afterEach(() => {
    vi.restoreAllMocks();
    process.exitCode = exitCode;
  });

  const printed = (): string[] => {
    const texts: string[] = [];
    vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      texts.push(String(chunk));
      return true;
    });
    return texts;
  };

  // Hundreds of thousands may be gone, and only this output says how many.
  it('prints what was done when a later call fails, and then fails', async () => {
    const { client } = answering([done(1_000, '17-40'), away]);
    const ended = await bulk(client, 'redrive', [], { all: true });
    const texts = printed();
    expect(() => printDone(ended, 'redriven', {})).toThrow(away);
    expect(() => printDone(ended, 'redriven', { json: true })).toThrow(away);
    expect(texts[0]).toBe('1000 dead letters (1000 items) redriven\n');
    expect(JSON.parse(texts[1] ?? '')).toEqual({ ...done(1_000, '17-40') });
  });

  it('fails by its first call alone', async () => {
    await expect(bulk(answering([away]).client, 'redrive', [], { all: true })).rejects.toBe(away);
  });

  it('purges nothing where the dry run did not count all', async () => {
    const { client, bodies } = answering([done(1_000, '17-40'), away]);
    await expect(confirmedPurge(client, [], { all: true }, typing('y\n'))).rejects.toBe(away);
    expect(bodies).toHaveLength(2);
  });
});
