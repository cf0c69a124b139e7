import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { type KvBucket, openKvBucket } from '../../src/bus/kv.ts';
import { createStreamReader } from '../../src/bus/stream-reader.ts';
import { ensureTopology } from '../../src/bus/topology.ts';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { buckets } from '../../src/directory/keys.ts';
import { openAudit } from '../../src/metadata/audit/audit.ts';
import type { AuditEntry } from '../../src/metadata/audit/entry.ts';
import { adminTokenSchema } from '../../src/metadata/tokens/admin-token-state.ts';
import { type AdminTokens, openAdminTokens } from '../../src/metadata/tokens/admin-tokens.ts';
import { adminRoles, roleAllows } from '../../src/metadata/tokens/roles.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { waitFor } from '../support/wait.ts';

let engines: TestEngines;
let bus: Bus;
let system: KvBucket;
let folder: string;
let lines: string[];
let log: Log;
const opened: AdminTokens[] = [];
const connections: Bus[] = [];

beforeAll(async () => {
  engines = await startEngines({ nats: true });
  bus = await connectBus(engines.nats.url, 'tokens-test');
});
afterAll(async () => {
  await bus?.close();
  await engines?.stop();
});
beforeEach(async () => {
  system = await openKvBucket(bus, buckets.system);
  folder = await mkdtemp(join(engines.folder, 'data-'));
  lines = [];
  const write = (fields: Record<string, unknown>, message: string): void => {
    lines.push(`${JSON.stringify(fields)} ${message}`);
  };
  log = { debug: write, info: write, warn: write, error: write };
});
afterEach(async () => {
  for (const tokens of opened.splice(0)) tokens.stop();
  for (const connection of connections.splice(0)) await connection.close();
  // Emptied and not deleted: for a moment the server answers reads of a new stream from the deleted one.
  await (await bus.manager()).streams.purge(`KV_${buckets.system}`);
});

/** The tokens as one metadata process has them, over a connection of its own. */
let reads = 0;

const open = async (dataFolder = folder): Promise<AdminTokens> => {
  const connection = await connectBus(engines.nats.url, 'tokens-test');
  connections.push(connection);
  const own = await openKvBucket(connection, buckets.system);
  const counted = {
    ...own,
    get: (key: string) => {
      reads++;
      return own.get(key);
    },
  };
  const tokens = await openAdminTokens(connection, counted, dataFolder, log);
  opened.push(tokens);
  return tokens;
};

const tokenIn = async (dataFolder: string): Promise<string> =>
  (await readFile(join(dataFolder, 'admin.token'), 'utf8')).trim();

/** Everything that the bucket's stream holds, as text. */
const storedText = async (): Promise<string> => {
  const { entries } = await createStreamReader(bus).readForwards(`KV_${buckets.system}`, { limit: 10_000 });
  return entries
    .map(
      ({ subject, headers, payload }) =>
        `${subject} ${JSON.stringify([...headers])} ${new TextDecoder().decode(payload)}`,
    )
    .join('\n');
};

const now = (): number => Math.floor(Date.now() / 1000);
/** What a revocation may take to hold everywhere. A second is what is promised; a busy machine gets five. */
const boundMs = 5_000;
const someone = { name: 'ops', creator: 'admin' } as const;

describe('the first start', () => {
  it('creates an admin token, writes it only to a file of its owner, and uses it ever after', async () => {
    const first = await open();
    const token = await tokenIn(folder);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect((await stat(join(folder, 'admin.token'))).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['admin.token']);
    const identity = { token_id: 1, name: 'admin', role: 'admin', mon_biz_id: null };
    expect(await first.authorize(token)).toEqual(identity);
    expect(await (await open()).authorize(token)).toEqual(identity);
    expect(await tokenIn(folder)).toBe(token);
    expect(lines).toEqual([]);
  });

  it('of several processes at once makes one token', async () => {
    const all = await Promise.all([open(), open(), open()]);
    const token = await tokenIn(folder);
    for (const tokens of all) {
      expect(await tokens.authorize(token)).toMatchObject({ token_id: 1 });
      expect(await tokens.list()).toHaveLength(1);
    }
  });

  // NATS lost its data: who has the machine's file stays the administrator.
  it('registers the token that the folder has', async () => {
    const token = 'chosen-by-hand';
    await writeFile(join(folder, 'admin.token'), `${token}\n`);
    expect(await (await open()).authorize(token)).toMatchObject({ token_id: 1, role: 'admin' });
  });

  // A deployment made before tokens had roles goes on with the token it has.
  it('takes the former token over as token 1', async () => {
    const token = 'ab01'.repeat(16);
    await system.put('admin_token', { sha256: createHash('sha256').update(token).digest('hex') });
    const tokens = await open();
    expect(await tokens.authorize(token)).toMatchObject({ token_id: 1, role: 'admin' });
    expect(await tokens.list()).toHaveLength(1);
    expect(await readdir(folder)).toEqual([]);
  });

  it('never trusts a file with another token, and names the remedy', async () => {
    await open();
    const elsewhere = await mkdtemp(join(engines.folder, 'data-'));
    await writeFile(join(elsewhere, 'admin.token'), 'planted');
    const tokens = await open(elsewhere);
    expect(await tokens.authorize('planted')).toBeUndefined();
    expect(lines.join('\n')).toContain('tidemark admin-token reset');
    expect(lines.join('\n')).not.toContain('planted');
  });
});

describe('a token', () => {
  it('is shown once, has the role of its creation, and is listed without its hash', async () => {
    const tokens = await open();
    for (const role of adminRoles) {
      const mon_biz_id = role === 'node' ? 7 : null;
      const { record, token } = await tokens.create({ ...someone, role, mon_biz_id });
      expect(token).toMatch(/^[0-9a-f]{64}$/);
      const { token_id, name } = record;
      expect(await tokens.authorize(token)).toEqual({ token_id, name, role, mon_biz_id });
      expect(adminTokenSchema.parse(record)).toEqual(record);
      expect(record).toMatchObject({ creator: 'admin', expires_at: null, is_revoked: false });
      expect(await tokens.get(token_id)).toEqual(record);
    }
    const list = await tokens.list();
    expect(list.map(({ token_id }) => token_id)).toEqual([1, 2, 3, 4, 5]);
    expect(Object.keys(list[0] ?? {})).not.toContain('sha256');
  });

  // KV is readable by every role and in every backup.
  it('is nowhere in the bucket, in none of its messages, but for its SHA-256', async () => {
    const tokens = await open();
    const { record, token } = await tokens.create({ ...someone, role: 'editor' });
    await tokens.revoke(record.token_id);
    const text = await storedText();
    expect(text).toContain('"last_id":2');
    for (const secret of [token, await tokenIn(folder)]) expect(text).not.toContain(secret);
  });

  it('is valid at once in another process, before its watch delivers it', async () => {
    const [one, other] = [await open(), await open()];
    for (let round = 0; round < 20; round++) {
      const { token } = await one.create({ ...someone, role: 'viewer' });
      expect(await other.authorize(token)).toMatchObject({ role: 'viewer' });
    }
  });

  // Guesses must not load the bus, and the owner of a new token must not wait for it.
  it('that does not exist costs no reads of its own, for any number of tries', async () => {
    const [one, other] = [await open(), await open()];
    const unknown = (count: number): string[] =>
      Array.from({ length: count }, () => randomBytes(32).toString('hex'));
    const readsOf = async (act: () => Promise<unknown>): Promise<number> => {
      const before = reads;
      await act();
      return reads - before;
    };
    const flood = unknown(2_000);
    const began = performance.now();
    const grown = await readsOf(async () => {
      const refused = await Promise.all(flood.map((token) => other.authorize(token)));
      expect(refused.every((identity) => identity === undefined)).toBe(true);
    });
    // Twenty a second, for any number of guesses.
    expect(grown).toBeLessThanOrEqual(2 + (performance.now() - began) / 50);
    // The same ones again are known to be unknown.
    expect(
      await readsOf(() => Promise.all(flood.map((token) => other.authorize(token)))),
    ).toBeLessThanOrEqual(1);

    for (let round = 0; round < 5; round++) {
      const trying = unknown(500).map((token) => other.authorize(token));
      const { token } = await one.create({ ...someone, role: 'viewer' });
      expect(await other.authorize(token)).toMatchObject({ role: 'viewer' });
      await Promise.all(trying);
    }
  });

  it('that was revoked is refused within a second by every process, for good', async () => {
    const [one, other] = [await open(), await open()];
    const { record, token } = await one.create({ ...someone, role: 'admin' });
    expect(await other.authorize(token)).toBeDefined();
    expect(await one.revoke(record.token_id)).toEqual({ ...record, is_revoked: true });
    expect(await one.authorize(token)).toBeUndefined();
    await waitFor('the other refuses it', boundMs, async () => (await other.authorize(token)) === undefined);
    expect(await other.revoke(record.token_id)).toEqual({ ...record, is_revoked: true });
    expect(await (await open()).authorize(token)).toBeUndefined();
  });

  it('is refused when it has expired', async () => {
    const tokens = await open();
    const { record, token } = await tokens.create({ ...someone, role: 'viewer', expires_at: now() + 3 });
    const identity = await tokens.authorize(token);
    // Unless this machine took longer than that.
    if (now() < (record.expires_at ?? 0)) expect(identity).toMatchObject({ token_id: record.token_id });
    await waitFor('it has expired', 60_000, async () => (await tokens.authorize(token)) === undefined);
    expect(now()).toBeGreaterThanOrEqual(record.expires_at ?? Number.POSITIVE_INFINITY);
  });

  it.each([
    ['a business for a role that has none', { role: 'viewer', mon_biz_id: 2 } as const],
    ['an expiry that has passed', { role: 'viewer', expires_at: 1 } as const],
  ])('is not made with %s', async (_, wanted) => {
    const creating = (await open()).create({ ...someone, ...wanted });
    await expect(creating).rejects.toMatchObject({ kind: 'permanent', code: 'invalid_value' });
  });

  it.each(['', 'x', '0'.repeat(64), 'sha256'])('with invalid values is refused: %j', async (bearer) => {
    expect(await (await open()).authorize(bearer)).toBeUndefined();
  });

  it('that does not exist is not found', async () => {
    const tokens = await open();
    const missing = { kind: 'permanent', code: 'not_found' };
    await expect(tokens.get(99)).rejects.toMatchObject(missing);
    await expect(tokens.revoke(99)).rejects.toMatchObject(missing);
  });

  it('created concurrently with others has its own id', async () => {
    const all = await Promise.all([open(), open(), open()]);
    const made = await Promise.all(
      all.flatMap((tokens) => [1, 2, 3].map(() => tokens.create({ ...someone, role: 'viewer' }))),
    );
    expect(new Set(made.map(({ record }) => record.token_id)).size).toBe(9);
    expect(await all[0]?.list()).toHaveLength(10);
  });
});

describe('the last admin token', () => {
  const last = { kind: 'permanent', code: 'last_admin_token' };

  it('cannot be revoked, with any other tokens', async () => {
    const tokens = await open();
    await tokens.create({ ...someone, role: 'editor' });
    const revoked = await tokens.create({ ...someone, role: 'admin' });
    await tokens.revoke(revoked.record.token_id);
    await expect(tokens.revoke(1)).rejects.toMatchObject(last);
    const expiring = await tokens.create({ ...someone, role: 'admin', expires_at: now() + 3 });
    await waitFor(
      'it has expired',
      60_000,
      async () => (await tokens.authorize(expiring.token)) === undefined,
    );
    await expect(tokens.revoke(1)).rejects.toMatchObject(last);
    expect(await tokens.revoke(expiring.record.token_id)).toMatchObject({ is_revoked: true });
    // Once it ends, nobody would be admin.
    const ending = await tokens.create({ ...someone, role: 'admin', expires_at: now() + 3_600 });
    await expect(tokens.revoke(1)).rejects.toMatchObject(last);
    expect(await tokens.revoke(ending.record.token_id)).toMatchObject({ is_revoked: true });
    await tokens.create({ ...someone, role: 'admin' });
    expect(await tokens.revoke(1)).toMatchObject({ is_revoked: true });
  });

  // Each of two revocations alone would leave one admin; both together would leave none.
  it('stays when several processes revoke all of them at once', async () => {
    const all = await Promise.all([open(), open(), open(), open()]);
    for (let round = 0; round < 10; round++) {
      while (((await all[0]?.list()) ?? []).filter(({ is_revoked }) => !is_revoked).length < 4) {
        await all[0]?.create({ ...someone, role: 'admin' });
      }
      const alive = ((await all[0]?.list()) ?? []).filter(({ is_revoked }) => !is_revoked);
      const outcomes = await Promise.allSettled(
        alive.map(({ token_id }, index) => all[index]?.revoke(token_id)),
      );
      const refused = outcomes.filter(({ status }) => status === 'rejected');
      expect(refused).toMatchObject([{ reason: last }]);
    }
  });
});

it('lets an admin do all that editors may, and an editor all that viewers may, and nodes only poll', () => {
  const allowed = adminRoles.map((role) => [role, adminRoles.filter((needed) => roleAllows(role, needed))]);
  expect(Object.fromEntries(allowed)).toEqual({
    admin: ['admin', 'editor', 'viewer', 'node'],
    editor: ['editor', 'viewer'],
    viewer: ['viewer'],
    node: ['node'],
  });
});

describe('an outage of NATS', () => {
  it('is no answer about a token, and a server without its data leaves known ones valid and gets the tokens from a process that has them', async () => {
    const tokens = await open();
    const { token } = await tokens.create({ ...someone, role: 'editor' });
    await engines.nats.kill();
    await waitFor('the loss is known', 60_000, () => connections.every(({ connected }) => !connected));
    await expect(tokens.authorize(token)).rejects.toMatchObject({ code: 'nats_unavailable' });
    await rm(join(engines.folder, 'nats', 'store'), { recursive: true });
    await engines.nats.start();
    await waitFor(
      'NATS is back',
      60_000,
      () => bus.connected && connections.every(({ connected }) => connected),
    );
    await openKvBucket(bus, buckets.system);
    expect(await tokens.authorize(token)).toMatchObject({ role: 'editor' });
    const { record } = await tokens.create({ ...someone, role: 'viewer' });
    expect(record.token_id).toBe(3);
    expect(await (await open()).authorize(token)).toMatchObject({ role: 'editor', token_id: 2 });
  });
});

describe('tidemark admin-token reset', () => {
  const answerSchema = z.strictObject({
    admin_token: adminTokenSchema,
    revoked: z.array(adminTokenSchema),
    file: z.string(),
  });

  const reset = async (
    more: readonly string[] = [],
    others: Readonly<Record<string, string>> = {},
  ): Promise<{ answer: z.output<typeof answerSchema>; text: string }> => {
    const env = { PATH: process.env['PATH'], TIDEMARK_DATA: folder, ...engines.env, ...others };
    const { stdout, stderr } = await promisify(execFile)(
      'bin/tidemark',
      ['admin-token', 'reset', '--json', ...more],
      { env },
    );
    return { answer: answerSchema.parse(JSON.parse(stdout)), text: stdout + stderr };
  };

  beforeEach(async () => {
    await ensureTopology(bus, loadPipelines('pipelines').streams);
    await (await bus.manager()).streams.purge('AUDIT');
  });

  /** Metadata stores the entry that the command left. */
  const resetsInLog = async (): Promise<readonly AuditEntry[]> => {
    const audit = openAudit(bus, system, log, 200);
    audit.start();
    try {
      return await waitFor('the entry', boundMs, async () => {
        const { items } = await audit.list({ limit: 10, action: 'admin_token.reset' });
        if (items.length === 0) throw new Error('no entry yet');
        return items;
      });
    } finally {
      await audit.stop();
    }
  };

  const refusedByNats = (): string[] => engines.lines.filter((line) => line.includes('Violation'));

  // NATS's log of violations is where an operator looks for a stolen password.
  it('as the user of operators asks NATS for nothing that it may not do, and metadata stores its entry', async () => {
    const env = { TIDEMARK_NATS_URL: engines.asUser(engines.nats.url, 'operator') };
    const { answer } = await reset([], env);
    const [entry] = await resetsInLog();
    expect(entry).toMatchObject({ target: { id: String(answer.admin_token.token_id) }, outcome: 'done' });
    expect(refusedByNats()).toEqual([]);
  });

  it('that cannot write its folder leaves no entry, and asks NATS for nothing that it may not do', async () => {
    await writeFile(join(folder, 'file'), '');
    const env = {
      TIDEMARK_NATS_URL: engines.asUser(engines.nats.url, 'operator'),
      TIDEMARK_DATA: join(folder, 'file'),
    };
    await expect(reset([], env)).rejects.toThrow();
    const intents = await (await bus.manager()).streams.getMessage(`KV_${buckets.system}`, {
      last_by_subj: `$KV.${buckets.system}.audit_intent.>`,
    });
    expect(intents?.header.get('KV-Operation')).toBe('DEL');
    expect(refusedByNats()).toEqual([]);
  });

  it('writes a new admin token in place of a lost one, for running processes too, and is in the audit log', async () => {
    const tokens = await open();
    const lost = await tokenIn(folder);
    await writeFile(join(folder, 'admin.token'), 'something else');
    const { answer, text } = await reset();
    const token = await tokenIn(folder);
    expect(answer).toMatchObject({
      admin_token: { token_id: 2, role: 'admin', creator: 'cli' },
      revoked: [],
    });
    expect(text).not.toContain(token);
    expect((await stat(answer.file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['admin.token']);
    expect(await tokens.authorize(token)).toMatchObject({ token_id: 2, role: 'admin' });
    expect(await tokens.authorize(lost)).toMatchObject({ token_id: 1 });
    const items = await resetsInLog();
    expect(items[0]).toMatchObject({
      actor: { token_id: null, name: 'cli' },
      target: { kind: 'admin_token', id: '2' },
      outcome: 'done',
    });
    expect(JSON.stringify(items)).not.toContain(token);
  });

  it('revokes the other admin tokens when asked to, and no others', async () => {
    const tokens = await open();
    const stolen = await tokenIn(folder);
    const viewer = await tokens.create({ ...someone, role: 'viewer' });
    const { answer } = await reset(['--revoke-others', '--yes']);
    expect(answer.revoked).toMatchObject([{ token_id: 1, is_revoked: true }]);
    await waitFor(
      'the old one is refused',
      boundMs,
      async () => (await tokens.authorize(stolen)) === undefined,
    );
    expect(await tokens.authorize(viewer.token)).toBeDefined();
    expect(await tokens.authorize(await tokenIn(folder))).toMatchObject({ role: 'admin' });
  });

  it('before metadata ever ran makes the first token, which metadata then uses', async () => {
    const { answer } = await reset();
    const token = await tokenIn(folder);
    expect(answer.admin_token.token_id).toBe(1);
    expect(await (await open()).authorize(token)).toMatchObject({ token_id: 1, role: 'admin' });
    expect(lines).toEqual([]);
  });
});
