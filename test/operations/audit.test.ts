import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { type KvBucket, openKvBucket } from '../../src/bus/kv.ts';
import { eraseKey, publishOnce } from '../../src/bus/outbox.ts';
import { createStreamReader } from '../../src/bus/stream-reader.ts';
import { ensureTopology } from '../../src/bus/topology.ts';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { buckets } from '../../src/directory/keys.ts';
import { type Audit, type AuditRequest, openAudit } from '../../src/metadata/audit/audit.ts';
import type { AuditEntry } from '../../src/metadata/audit/entry.ts';
import { createSettling, intentPrefix, intentSchema } from '../../src/metadata/audit/intents.ts';
import { Fault } from '../../src/model/fault.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { waitFor } from '../support/wait.ts';

const streams = loadPipelines('pipelines').streams;
const secret = 'ab01'.repeat(8);
const orphanMs = 600;

let engines: TestEngines;
let bus: Bus;
let system: KvBucket;
let lines: string[];
let log: Log;

beforeAll(async () => {
  engines = await startEngines({ nats: true });
  bus = await connectBus(engines.nats.url, 'audit-test');
  system = await openKvBucket(bus, buckets.system);
});
afterAll(async () => {
  await bus?.close();
  await engines?.stop();
});
beforeEach(async () => {
  await ensureTopology(bus, streams);
  lines = [];
  const write = (fields: Record<string, unknown>, message: string): void => {
    lines.push(`${JSON.stringify(fields)} ${message}`);
  };
  log = { debug: write, info: write, warn: write, error: write };
});
afterEach(async () => {
  // Emptied and not deleted: for a moment the server answers reads of a new stream from the deleted one.
  await (await bus.manager()).streams.purge('AUDIT');
});

const open = (orphanAfterMs = orphanMs): Audit => openAudit(bus, system, log, orphanAfterMs);

/** One that sweeps, until the test is over. */
const openSweeping = (orphanAfterMs = orphanMs): Audit => {
  const audit = open(orphanAfterMs);
  audit.start();
  onTestFinished(() => audit.stop());
  return audit;
};

const entries = async (): Promise<AuditEntry[]> => (await open().list({ limit: 1_000 })).items;

/** What NATS has under the keys of intents, markers of deleted ones included. */
const intentKeys = async (): Promise<string[]> => {
  const manager = await bus.manager();
  const filter = `$KV.${buckets.system}.${intentPrefix}>`;
  const { state } = await manager.streams.info(`KV_${buckets.system}`, { subjects_filter: filter });
  return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(subject.indexOf(intentPrefix)));
};

const untilSwept = (): Promise<unknown> =>
  waitFor('no intent is left', 60_000, async () => (await intentKeys()).length === 0);

const request: AuditRequest = {
  actor: { token_id: 3, name: 'ops', role: 'editor' },
  operator: 'someone',
  action: 'custom_report.change',
  target: { kind: 'custom_report', id: 7 },
  request: { description: `the token is ${secret}`, token: secret },
};

const refusal = new Fault('permanent', 'name_taken', 'the name is taken');

describe('an audited call', () => {
  it('leaves who, when, what, before and after, and nothing else', async () => {
    const before = Math.floor(Date.now() / 1000);
    const result = await open().run(request, async (note) => {
      note({
        before: { name: 'a', token: secret, on: true },
        after: { name: 'b', token: 'other', on: true },
      });
      note({ target: { kind: 'result_table', id: 't' }, after: { table_id: 't' } });
      return 'result';
    });
    expect(result).toBe('result');
    const [entry, ...others] = await entries();
    expect(others).toEqual([]);
    expect(entry).toEqual({
      audit_id: expect.any(String),
      at: expect.any(Number),
      actor: request.actor,
      operator: 'someone',
      action: 'custom_report.change',
      target: { kind: 'custom_report', id: '7' },
      outcome: 'done',
      changes: [
        {
          kind: 'custom_report',
          id: '7',
          before: { name: 'a', token: '*'.repeat(32) },
          after: { name: 'b', token: '*'.repeat(32) },
        },
        { kind: 'result_table', id: 't', before: null, after: { table_id: 't' } },
      ],
      request: { description: `the token is ${'*'.repeat(32)}`, token: '*'.repeat(32) },
    });
    expect(entry?.at).toBeGreaterThanOrEqual(before);
    expect(await intentKeys()).toEqual([]);
  });

  it('is entered under the id that its creation gave', async () => {
    await open().run({ ...request, target: { kind: 'application' } }, async (note) => {
      note({ target: { kind: 'application', id: 12 }, after: { app_id: 12 } });
    });
    expect(await entries()).toMatchObject([{ target: { kind: 'application', id: '12' } }]);
  });

  it('has the state at the moment of its note, even if the caller changes the object later', async () => {
    await open().run(request, async (note) => {
      const after = { name: 'b' };
      note({ before: { name: 'a' }, after });
      after.name = 'c';
    });
    expect(await entries()).toMatchObject([{ changes: [{ after: { name: 'b' } }] }]);
  });

  // Refused requests change nothing: in the log, they could push the real entries out.
  it('leaves nothing when it was refused before it changed anything', async () => {
    await expect(open().run(request, () => Promise.reject(refusal))).rejects.toBe(refusal);
    expect(await entries()).toEqual([]);
    expect(await intentKeys()).toEqual([]);
  });

  it.each([
    ['a permanent Fault after a change', refusal, true, 'name_taken', 1],
    [
      'a transient Fault',
      new Fault('transient', 'questdb_unreachable', 'away'),
      false,
      'questdb_unreachable',
      0,
    ],
    ['an internal Fault', new Fault('internal', 'record_invalid', 'x'), false, 'record_invalid', 0],
    ['anything else that is thrown', new Error('x'), false, 'internal_error', 0],
  ])('is entered as failed with its code after %s', async (_, error, isNoted, code, changes) => {
    const failing = open().run(request, async (note) => {
      if (isNoted) note({ after: { name: 'a' } });
      throw error;
    });
    await expect(failing).rejects.toBe(error);
    const [entry] = await entries();
    expect(entry).toMatchObject({ outcome: 'failed', code });
    expect(entry?.changes).toHaveLength(changes);
    expect(await intentKeys()).toEqual([]);
  });
});

describe('a process that dies', () => {
  // The change is done and its entry is not written: the one moment at which a change could stay unseen.
  it('between its work and its entry leaves exactly one, which any of several others brings', async () => {
    const child = spawn(process.execPath, [
      'test/support/metadata/audit-process.ts',
      engines.nats.url,
      String(orphanMs),
    ]);
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    const [said] = await once(child.stdout, 'data');
    expect(String(said)).toBe('working\n');
    const others = [openSweeping(), openSweeping()];
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect((await system.get('thing_done'))?.value).toBe(true);
    await untilSwept();
    const [entry, ...more] = await entries();
    expect(more).toEqual([]);
    expect(entry).toMatchObject({
      outcome: 'interrupted',
      operator: 'someone',
      action: 'test.stay',
      target: { kind: 'thing', id: 'of-killed' },
      request: { name: 'demo', token: '*'.repeat(32) },
    });
    expect(others).toHaveLength(2);
  });

  // It renews its intent: a slow call of a living process is no orphan.
  it('is not mistaken for one that takes long', async () => {
    // So long that no stall of this machine makes an orphan of it: it is renewed three times in that.
    const patientMs = 6_000;
    openSweeping(patientMs);
    await openSweeping(patientMs).run(request, async () => {
      const [key = ''] = await intentKeys();
      await waitFor('the intent was renewed for longer than an orphan is left', 60_000, async () => {
        const stored = await system.get(key);
        return stored !== undefined && intentSchema.parse(stored.value).renewals >= 4;
      });
    });
    expect(await entries()).toMatchObject([{ outcome: 'done' }]);
    expect(await intentKeys()).toEqual([]);
  });

  // Stopped, and continued later: it must not add a second entry to the one that was brought in its name.
  it('only for a while finds its call entered as interrupted, once', async () => {
    openSweeping();
    const standing = open();
    await standing.run(request, async (note) => {
      await untilSwept();
      note({ after: { name: 'b' } });
    });
    expect(await entries()).toMatchObject([{ outcome: 'interrupted' }]);
    expect(lines.filter((line) => line.includes('was suspended'))).toHaveLength(1);
    expect(await intentKeys()).toEqual([]);
  });

  it('returns its result during an outage of the audit log; the complete entry follows', async () => {
    await (await bus.manager()).streams.delete('AUDIT');
    const result = await open().run(request, async (note) => {
      note({ before: { name: 'a' }, after: { name: 'b' } });
      return 'result';
    });
    expect(result).toBe('result');
    await ensureTopology(bus, streams);
    expect(await entries()).toEqual([]);
    openSweeping();
    await untilSwept();
    expect(await entries()).toMatchObject([{ outcome: 'done', changes: [{ after: { name: 'b' } }] }]);
  });

  it('does not keep others from being brought by an intent that cannot be read', async () => {
    await system.put(`${intentPrefix}0`, { not: 'an intent' });
    await (await bus.manager()).streams.delete('AUDIT');
    await open().run(request, async () => undefined);
    await ensureTopology(bus, streams);
    openSweeping();
    await waitFor('the entry is there', 60_000, async () => (await entries()).length === 1);
    await waitFor('the other was logged', 60_000, () =>
      lines.some((line) => line.includes('cannot be settled')),
    );
    await eraseKey(bus, buckets.system, `${intentPrefix}0`);
  });
});

// Intents are in no copy of the bucket: it is made again without them.
describe('a call whose intent is lost with its bucket', () => {
  it.each([false, true])(
    'has its complete entry, once (its target is known only later: %s)',
    async (isLater) => {
      const target = isLater ? { kind: 'application' } : request.target;
      await open().run({ ...request, target }, async (note) => {
        note({ target: { kind: target.kind, id: 12 }, after: { name: 'b' } });
        for (const key of await intentKeys()) await eraseKey(bus, buckets.system, key);
      });
      expect(await entries()).toMatchObject([{ outcome: 'done', changes: [{ id: '12' }] }]);
      expect(lines).toEqual([]);
    },
  );

  it('has it also where the log is away when it ends', async () => {
    const audit = openSweeping();
    const { streams: manager } = await bus.manager();
    await audit.run(request, async (note) => {
      note({ after: { name: 'b' } });
      for (const key of await intentKeys()) await eraseKey(bus, buckets.system, key);
      await manager.delete('AUDIT');
    });
    await ensureTopology(bus, streams);
    await waitFor('its entry', 60_000, async () => (await entries()).length > 0);
    expect(await entries()).toMatchObject([{ outcome: 'done' }]);
  });
});

// An intent goes without a marker: a NATS that was killed before its disk had the removal has the intent again.
describe('an intent that comes back after its entry was stored', () => {
  it.each([undefined, 12])('brings no second entry (id known at first: %s)', async (id) => {
    let back: [key: string, intent: unknown] | undefined;
    await open().run({ ...request, target: { kind: 'application', id } }, async (note) => {
      const [key = ''] = await intentKeys();
      back = [key, (await system.get(key))?.value];
      note({ target: { kind: 'application', id: 12 }, after: { app_id: 12 } });
    });
    const [key, intent] = back ?? [''];
    await system.put(key, intent);
    openSweeping();
    await untilSwept();
    expect(await entries()).toMatchObject([{ outcome: 'done', target: { id: '12' } }]);
    expect(lines).toEqual([]);
  });

  it('stays until the log can be read', async () => {
    const auditId = '00000000-0000-4000-8000-000000000001';
    const pending = {
      ...{ audit_id: auditId, at: 1, actor: request.actor, operator: null, action: 'application.create' },
      ...{ target: { kind: 'application', id: null }, outcome: 'interrupted', changes: [], request: null },
    } as const;
    await system.put(`${intentPrefix}${auditId}`, { pending, renewals: 0 });
    const settling = createSettling({
      ...{ system, log, orphanMs, now: () => 1, reader: createStreamReader(bus) },
      publish: (subject, messageId, payload) => publishOnce(bus, subject, messageId, payload),
      erase: async (key) => {
        await eraseKey(bus, buckets.system, key);
      },
    });
    await (await bus.manager()).streams.delete('AUDIT');
    await expect(settling.settle(auditId, (entry) => entry)).rejects.toMatchObject({ kind: 'transient' });
    expect(await intentKeys()).toHaveLength(1);
    await ensureTopology(bus, streams);
    expect(await settling.settle(auditId, (entry) => entry)).toMatchObject({ outcome: 'interrupted' });
    expect(await entries()).toHaveLength(1);
  });
});

describe('an entry', () => {
  const payload = new TextEncoder().encode('x');
  const messages = async (): Promise<number> =>
    (await (await bus.manager()).streams.info('AUDIT')).state.messages;

  // NATS forgets the message id after the duplicate window of five minutes; a process can stall for longer.
  it('is stored once, even when its message id is long forgotten', async () => {
    await publishOnce(bus, 'audit.k.1.a', 'a', payload);
    await publishOnce(bus, 'audit.k.1.a', 'a', payload);
    expect(await messages()).toBe(1);
    await publishOnce(bus, 'audit.k.1.a', 'another id', payload);
    expect(await messages()).toBe(1);
    await publishOnce(bus, 'audit.k.1.b', 'b', payload);
    expect(await messages()).toBe(2);
  });

  // A full log that refuses would lose the newest entries, or stop all changes.
  it('finds room in a full log: the oldest give way', async () => {
    const small = streams.map((stream) =>
      stream.name === 'AUDIT' ? { ...stream, bytesMax: 64 * 1024 } : stream,
    );
    await ensureTopology(bus, small);
    const audit = open();
    for (let id = 0; id < 20; id++) {
      await audit.run({ ...request, target: { kind: 'thing', id } }, async (note) => {
        note({ after: { text: 'x'.repeat(8_000) } });
      });
    }
    const ids = (await entries()).map(({ target }) => Number(target.id));
    expect(ids.length).toBeGreaterThan(3);
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, index) => 19 - index));
  });
});

describe('the list', () => {
  const kinds = ['custom_report', 'application', 'admin_token'];
  const count = 3_000;
  const entryOf = (index: number): AuditEntry => ({
    audit_id: `id-${index}`,
    at: 1_800_000_000 + index,
    actor: { token_id: index % 4, name: `name ${index % 4}`, role: 'admin' },
    operator: null,
    action: index % 500 === 0 ? 'rare' : `action.${index % 2}`,
    target: { kind: kinds[index % 3] ?? '', id: index % 10 === 0 ? 'a.b c' : String(index % 10) },
    outcome: 'done',
    changes: [],
    request: null,
  });
  const token = (text: string): string => text.replaceAll(/[^A-Za-z0-9_-]/g, '_');

  const fill = async (): Promise<AuditEntry[]> => {
    const all = Array.from({ length: count }, (_, index) => entryOf(index));
    for (const entry of all) {
      const subject = `audit.${token(entry.target.kind)}.${token(entry.target.id ?? '')}.${entry.audit_id}`;
      await publishOnce(bus, subject, entry.audit_id, Buffer.from(JSON.stringify(entry)));
    }
    return all.reverse();
  };

  const readAll = async (
    query: Omit<Parameters<Audit['list']>[0], 'limit' | 'cursor'>,
    limit: number,
  ): Promise<AuditEntry[]> => {
    const audit = open();
    const items: AuditEntry[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await audit.list({ ...query, limit, cursor });
      expect(page.items.length).toBeLessThanOrEqual(limit);
      items.push(...page.items);
      cursor = page.next_cursor;
    } while (cursor !== null);
    return items;
  };

  it('pages through thousands of entries, newest first, by any filter', async () => {
    const all = await fill();
    const ids = (list: readonly AuditEntry[]): string[] => list.map(({ audit_id }) => audit_id);
    expect(ids(await readAll({}, 1_000))).toEqual(ids(all));
    expect(ids(await readAll({}, 7)).length).toBe(count);
    const filters: [Parameters<typeof readAll>[0], (entry: AuditEntry) => boolean][] = [
      [{ target_kind: 'application' }, ({ target }) => target.kind === 'application'],
      [{ target_id: 'a.b c' }, ({ target }) => target.id === 'a.b c'],
      [{ target_id: 'a_b_c' }, () => false],
      [
        { target_kind: 'admin_token', target_id: '7' },
        ({ target }) => target.kind === 'admin_token' && target.id === '7',
      ],
      [{ action: 'rare' }, ({ action }) => action === 'rare'],
      [{ actor: 'name 3' }, ({ actor }) => actor.name === 'name 3'],
      [{ actor: '2', action: 'rare' }, ({ actor, action }) => actor.token_id === 2 && action === 'rare'],
      [{ action: 'never' }, () => false],
    ];
    for (const [filter, matches] of filters) {
      for (const limit of [13, 1_000]) {
        expect(ids(await readAll(filter, limit)), JSON.stringify(filter)).toEqual(ids(all.filter(matches)));
      }
    }
  });

  it('is empty, and ends, where nothing was ever changed', async () => {
    expect(await open().list({ limit: 10 })).toEqual({ items: [], next_cursor: null });
  });

  it.each(['0', '-1', 'x', '1.5', ''])('refuses the cursor %j', async (cursor) => {
    await expect(open().list({ limit: 10, cursor })).rejects.toMatchObject({
      kind: 'permanent',
      code: 'invalid_value',
    });
  });
});

describe('an outage of the bus', () => {
  // A change that could not be entered must not be made.
  it('refuses a call before its work begins', async () => {
    await engines.nats.kill();
    try {
      let isBegun = false;
      const call = open().run(request, async () => {
        isBegun = true;
      });
      await expect(call).rejects.toMatchObject({ kind: 'transient' });
      expect(isBegun).toBe(false);
    } finally {
      await engines.nats.start();
      await waitFor('NATS is back', 60_000, () => bus.connected);
    }
  });
});
