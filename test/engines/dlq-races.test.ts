import { ClickHouseError } from '@clickhouse/client';
import { DiscardPolicy } from '@nats-io/jetstream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { type KvBucket, openKvBucket } from '../../src/bus/kv.ts';
import { type DeadLetterAdmin, newCall } from '../../src/dead-letters/admin.ts';
import type { Letter } from '../../src/dead-letters/dead-letter.ts';
import { buckets } from '../../src/directory/keys.ts';
import { Fault } from '../../src/model/fault.ts';
import { dayMs } from '../../src/model/time.ts';
import type { ReadRecords } from '../../src/outcomes/record-reader.ts';
import { droppedOutcome } from '../../src/outcomes/tally.ts';
import { toFault } from '../../src/stores/clickhouse/faults.ts';
import { adminOn } from '../support/outcomes/dead-letter-admin.ts';
import { plantDeadLetters } from '../support/outcomes/dead-letters.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { waitFor } from '../support/wait.ts';

const blockPart = {
  ...{ appId: 1, bizId: 1, day: 0, rows: 1, base: '1', first: 0, last: 0 },
  ...{ timeMin: '0', timeMax: '0', bytes: 1 },
};

let engines: TestEngines;
let buses: Bus[];
let claims: KvBucket;

const busOf = (index: number): Bus => {
  const bus = buses[index];
  if (bus === undefined) throw new Error(`no bus ${index}`);
  return bus;
};

beforeAll(async () => {
  engines = await startEngines({ nats: true });
  buses = await Promise.all([1, 2].map((count) => connectBus(engines.nats.url, `test ${count}`)));
  claims = await openKvBucket(busOf(0), buckets.system);
});
afterAll(async () => {
  for (const bus of buses ?? []) await bus.close();
  await engines?.stop();
});

/** As two metadata processes, each with a connection of its own. */
let first: DeadLetterAdmin;
let second: DeadLetterAdmin;

const streams = async () => (await busOf(0).manager()).streams;
const messagesIn = async (stream: string): Promise<number> =>
  (await (await streams()).info(stream)).state.messages;

beforeEach(async () => {
  const manager = await streams();
  for (const [name, subject] of [
    ['METRICS', 'metrics.>'],
    ['DEADLETTER', 'deadletter.>'],
    ['LEDGER', 'ledger.>'],
  ] as const) {
    // A stream that stays, because NATS could not remove it, takes the next dead letters for repeats.
    await waitFor(`${name} is removed`, 30_000, async () => {
      for await (const there of manager.names())
        if (there === name) return await manager.delete(name).then(() => false);
      return true;
    });
    await manager.add({ name, subjects: [subject], allow_direct: true });
  }
  await manager.purge(`KV_${buckets.system}`);
  first = adminOn(busOf(0), claims);
  second = adminOn(busOf(1), await openKvBucket(busOf(1), buckets.system));
});

const planted = async (count: number): Promise<readonly Letter[]> => {
  await plantDeadLetters(busOf(0), count);
  const { letters } = await first.listUpwards({}, { limit: count, from: 1, last: count });
  expect(letters).toHaveLength(count);
  return letters;
};
const one = async (): Promise<Letter> => {
  const [letter] = await planted(1);
  if (letter === undefined) throw new Error('no dead letter');
  return letter;
};
const claimOf = ({ sequence }: Letter) => claims.get(`dead_letter.${sequence}`);

// The answer and the audit of an act must say what became of a dead letter: of two acts, one has it.
describe('an act on a dead letter that an act of another process has removed since it was listed', () => {
  it.each([
    ['redrive', 'purge'],
    ['purge', 'redrive'],
    ['redrive', 'redrive'],
  ] as const)('is refused: a %s after a %s', async (later, earlier) => {
    const letter = await one();
    await second[earlier](letter);
    const published = await messagesIn('METRICS');
    const recorded = await messagesIn('LEDGER');
    await expect(first[later](letter)).rejects.toMatchObject({
      kind: 'permanent',
      code: 'not_found',
      message: expect.stringContaining(`dead letter ${letter.sequence} does not exist any more`),
    });
    expect(await messagesIn('METRICS')).toBe(published);
    expect(await messagesIn('LEDGER')).toBe(recorded);
    expect(await claimOf(letter)).toBeUndefined();
  });

  it('is refused also where that act ends between the two looks at its claim', async () => {
    const letter = await one();
    let tries = 0;
    const late: KvBucket = {
      ...claims,
      create: async (key, value) => {
        if (++tries > 1) return claims.create(key, value);
        await second.purge(letter);
        throw new Fault('permanent', 'kv_conflict', 'the claim of the purge was there');
      },
    };
    await expect(adminOn(busOf(0), late).redrive(letter)).rejects.toMatchObject({ code: 'not_found' });
    expect(await claimOf(letter)).toBeUndefined();
  });

  it.each([
    ['redrive', 'purge'],
    ['redrive', 'redrive'],
    ['purge', 'purge'],
  ] as const)(
    'has each of a hundred letters that a %s and a %s take at once for one of the two',
    async (one, other) => {
      const letters = await planted(100);
      const done = { redrive: 0, purge: 0 };
      const take = async (admin: DeadLetterAdmin, action: 'redrive' | 'purge'): Promise<void> => {
        for (const letter of letters)
          try {
            await admin[action](letter);
            done[action]++;
          } catch (error) {
            if (!(error instanceof Fault && error.kind === 'permanent')) throw error;
          }
      };
      await Promise.all([take(first, one), take(second, other)]);
      expect(done.redrive + done.purge).toBe(letters.length);
      expect(await messagesIn('METRICS')).toBe(done.redrive);
      expect(await messagesIn('DEADLETTER')).toBe(0);
    },
  );

  it('ends no claim of an act that began after its own', async () => {
    const letter = await one();
    const { sequence } = letter;
    // An equal act ends the claim that this one has taken over, and a third one begins.
    const late: KvBucket = {
      ...claims,
      update: async (key, value, revision) => {
        const own = await claims.update(key, value, revision);
        await second.redrive(letter);
        await claims.create(key, { action: 'redrive', at: 2 });
        return own;
      },
    };
    await claims.create(`dead_letter.${sequence}`, { action: 'redrive', at: 1 });
    await expect(adminOn(busOf(0), late).redrive(letter)).rejects.toMatchObject({ code: 'not_found' });
    expect(await claims.get(`dead_letter.${sequence}`)).toBeDefined();
  });
});

// A killed process leaves its claim: the repeat of its act must not fail.
it.each(['redrive', 'purge'] as const)(
  'a %s whose process was killed behind the removal is finished by its repeat',
  async (action) => {
    const letter = await one();
    await (await streams()).deleteMessage('DEADLETTER', letter.sequence);
    await claims.create(`dead_letter.${letter.sequence}`, { action, at: 1 });
    await first[action](letter);
    expect(await claimOf(letter)).toBeUndefined();
    expect(await messagesIn('METRICS')).toBe(0);
  },
);

/** From now on the stream has no room. */
const fill = async (name: string): Promise<void> => {
  await (await streams()).update(name, { discard: DiscardPolicy.New, max_bytes: 1 });
};

/** The same letter with items that a record counts: its purge writes one. */
const recorded = ({ header, ...letter }: Letter): Letter => ({
  ...letter,
  header: { ...header, outcome: { base: '1', first: 0, minute: '2026-11-01 00:00:00' } },
});
const counted = async (): Promise<Letter> => recorded(await one());

const refusals = [
  ['redrive', 'METRICS is full', () => fill('METRICS'), 'stream_full'],
  [
    'redrive',
    'METRICS does not exist',
    async () => (await streams()).delete('METRICS'),
    'jetstream_leaderless',
  ],
  ['purge', 'LEDGER is full', () => fill('LEDGER'), 'stream_full'],
] as const;

// Where METRICS and DEADLETTER are full, one of the two acts has to make room: a claim that stays would refuse the other for ever.
describe.each(refusals)('a %s that NATS refuses because %s', (action, _, refuse, code) => {
  const other = action === 'redrive' ? 'purge' : 'redrive';

  it('has done nothing, and leaves the letter to either act', async () => {
    const letter = await counted();
    await refuse();
    await expect(first[action](letter)).rejects.toMatchObject({ kind: 'transient', code });
    expect(await claimOf(letter)).toBeUndefined();
    expect(await messagesIn('LEDGER')).toBe(0);
    await second[other](letter);
    expect(await messagesIn('DEADLETTER')).toBe(0);
  });

  it('keeps the claim of an earlier try, which may have stored its message', async () => {
    const letter = await counted();
    await claims.create(`dead_letter.${letter.sequence}`, { action, at: 1 });
    await refuse();
    await expect(first[action](letter)).rejects.toMatchObject({ code });
    expect(await claimOf(letter)).toMatchObject({ value: { action } });
    await expect(second[other](letter)).rejects.toMatchObject({ code: 'dead_letter_busy' });
  });
});

// An operator confirms what a dry run counts.
it('a dry run refuses a letter on which the other act was begun, as the act itself does, and no other', async () => {
  const letter = await one();
  await first.checkRedrive(letter);
  await first.checkPurge(letter);
  await claims.create(`dead_letter.${letter.sequence}`, { action: 'redrive', at: 1 });
  await first.checkRedrive(letter);
  await expect(first.checkPurge(letter)).rejects.toMatchObject({ code: 'dead_letter_busy' });
  await claims.put(`dead_letter.${letter.sequence}`, { action: 'purge', at: 1 });
  await first.checkPurge(letter);
  await expect(first.checkRedrive(letter)).rejects.toMatchObject({ code: 'dead_letter_busy' });
});

const publishingBy = (bus: Bus, publish: Bus['js']['publish']): Bus => {
  const js: Bus['js'] = Object.create(bus.js, { publish: { value: publish } });
  return Object.create(bus, { js: { value: js } });
};

/** A redrive by a process of its own that has its claim and waits before it publishes. */
const heldRedrive = async (
  index: number,
  letter: Letter,
): Promise<{ goOn(): void; dies(): void; ended: Promise<string> }> => {
  const reached = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const bus = publishingBy(busOf(index), async (...call) => {
    reached.resolve();
    await gate.promise;
    return busOf(index).js.publish(...call);
  });
  const own = await openKvBucket(busOf(index), buckets.system);
  const ended = adminOn(bus, own)
    .redrive(letter)
    .then(
      () => 'done',
      (error: unknown) => (error instanceof Fault ? error.code : String(error)),
    );
  await reached.promise;
  return { goOn: gate.resolve, dies: () => gate.reject(new Error('killed')), ended };
};

// Two operators, or a repeat after a timeout: the message of the one may be stored when NATS refuses that of the other.
describe('of two redrives of a dead letter at once', () => {
  it('one that NATS refuses leaves the claim to the other: no purge comes between, and the other has the letter', async () => {
    const letter = await counted();
    await fill('METRICS');
    const refused = await heldRedrive(0, letter);
    const other = await heldRedrive(1, letter);
    refused.goOn();
    expect(await refused.ended).toBe('stream_full');
    await expect(first.purge(letter)).rejects.toMatchObject({ code: 'dead_letter_busy' });
    await (await streams()).update('METRICS', { max_bytes: -1 });
    other.goOn();
    expect(await other.ended).toBe('done');
    expect(await messagesIn('METRICS')).toBe(1);
    expect(await messagesIn('LEDGER')).toBe(0);
    expect(await messagesIn('DEADLETTER')).toBe(0);
    expect(await claimOf(letter)).toBeUndefined();
  });

  it('the one that comes to its end has the letter, where the other fails behind it', async () => {
    const letter = await counted();
    const done = await heldRedrive(0, letter);
    const failing = await heldRedrive(1, letter);
    done.goOn();
    expect(await done.ended).toBe('done');
    expect(await claimOf(letter)).toBeUndefined();
    failing.dies();
    expect(await failing.ended).not.toBe('done');
    expect(await messagesIn('METRICS')).toBe(1);
    expect(await messagesIn('DEADLETTER')).toBe(0);
  });
});

it.each(['redrive', 'purge'] as const)(
  'a claim that cannot be read refuses its dead letter alone, by its key: a %s of many goes on',
  async (action) => {
    const letter = await one();
    await busOf(0).js.publish(`$KV.${buckets.system}.dead_letter.${letter.sequence}`, 'not JSON');
    const refusal = {
      kind: 'permanent',
      code: 'dead_letter_busy',
      message: expect.stringContaining(`dead_letter.${letter.sequence} in KV cannot be read`),
    };
    const check = action === 'redrive' ? first.checkRedrive(letter) : first.checkPurge(letter);
    await expect(check).rejects.toMatchObject(refusal);
    await expect(first[action](letter)).rejects.toMatchObject(refusal);
    expect(await messagesIn('DEADLETTER')).toBe(1);
  },
);

/** The same connection, on which the first publish gets no answer: METRICS is full from then on. */
const deaf = (bus: Bus): Bus => {
  let calls = 0;
  return publishingBy(bus, async (...call) => {
    if (++calls > 1) return bus.js.publish(...call);
    await fill('METRICS');
    throw new Error('the answer is lost');
  });
};

it('a redrive without an answer to its first try keeps its claim where NATS refuses the second: the message may be stored', async () => {
  const letter = await counted();
  await expect(adminOn(deaf(busOf(0)), claims).redrive(letter)).rejects.toMatchObject({
    message: expect.stringContaining('the answer is lost'),
  });
  expect(await claimOf(letter)).toMatchObject({ value: { action: 'redrive' } });
  await expect(second.purge(letter)).rejects.toMatchObject({ code: 'dead_letter_busy' });
  await (await streams()).update('METRICS', { max_bytes: -1 });
  await second.redrive(letter);
  expect(await messagesIn('METRICS')).toBe(1);
  expect(await messagesIn('DEADLETTER')).toBe(0);
});

it('a redrive larger than NATS takes names the limit, and leaves the letter to a purge', async () => {
  const letter = { ...(await counted()), bytes: Buffer.alloc((busOf(0).nc.info?.max_payload ?? 0) + 1) };
  await expect(first.redrive(letter)).rejects.toMatchObject({ kind: 'permanent', code: 'message_too_large' });
  expect(await claimOf(letter)).toBeUndefined();
});

// Ten seconds for each of a hundred thousand letters would be days.
it('a redrive of many letters waits for a ClickHouse that does not answer only as long as its answer is worth, and again after half a minute', async () => {
  const letters = (await planted(3)).map(recorded);
  const waits: (number | undefined)[] = [];
  const admin = adminOn(busOf(0), claims, async (_key, timeoutMs) => {
    waits.push(timeoutMs);
    throw new Fault('transient', 'clickhouse_unavailable', 'no answer');
  });
  const call = newCall();
  for (const letter of letters) {
    await admin.checkRedrive(letter, call);
    await admin.redrive(letter, call);
  }
  expect(waits).toEqual([3_000]);
  expect(await messagesIn('METRICS')).toBe(3);
  expect(await messagesIn('DEADLETTER')).toBe(0);
  expect(call.clickhouseAwayUntil - performance.now()).toBeLessThanOrEqual(30_000);
  call.clickhouseAwayUntil = performance.now();
  for (const letter of letters) await admin.checkRedrive(letter, call);
  expect(waits).toEqual([3_000, 3_000]);
});

const purgedOnce = { [droppedOutcome('purged_by_operator')]: 1 };
const busy = () =>
  toFault(
    new ClickHouseError({
      message: 'too many queries',
      code: '202',
      type: 'TOO_MANY_SIMULTANEOUS_QUERIES',
    }),
  );

// A purged letter would be stored for one moment in which ClickHouse had too many queries.
it('a redrive of many letters looks for purged ones also behind an answer of a busy ClickHouse', async () => {
  const letters = (await planted(2)).map(recorded);
  let looks = 0;
  const admin = adminOn(busOf(0), claims, async () => {
    if (++looks > 1) return purgedOnce;
    throw busy();
  });
  const call = newCall();
  const [before, purged] = letters;
  if (before === undefined || purged === undefined) throw new Error('no dead letters');
  await admin.redrive(before, call);
  await expect(admin.redrive(purged, call)).rejects.toMatchObject({ code: 'not_redrivable' });
  expect(await messagesIn('METRICS')).toBe(1);
});

// A query for each of a thousand letters took half a minute before the page could ask whether to begin.
describe('a dry run of many letters', () => {
  const checked = async (readRecords: ReadRecords) => {
    const letters = (await planted(3)).map(recorded);
    const looks = { alone: 0, together: 0 };
    const admin = adminOn(
      busOf(0),
      claims,
      async ({ base, first: ofFirst }) => {
        looks.alone++;
        const [, purged] = letters;
        const { outcome } = purged?.header ?? {};
        return outcome?.base === base && outcome.first === ofFirst ? purgedOnce : undefined;
      },
      {
        readRecords: async (keys, timeoutMs) => {
          looks.together++;
          return readRecords(keys, timeoutMs);
        },
      },
    );
    const call = await admin.beginChecks(letters);
    const answers = letters.map((letter) =>
      admin.checkRedrive(letter, call).then(
        () => 'would be',
        (error: unknown) => (error instanceof Fault ? error.code : error),
      ),
    );
    return { looks, answers: await Promise.all(answers) };
  };

  it('reads their records together, and refuses the purged ones', async () => {
    const together = await checked(async (keys) =>
      keys.map((_, index) => (index === 1 ? purgedOnce : undefined)),
    );
    expect(together).toEqual({
      looks: { alone: 0, together: 1 },
      answers: ['would be', 'not_redrivable', 'would be'],
    });
  });

  it('looks at each where a busy ClickHouse refuses that, and at none where it does not answer', async () => {
    expect((await checked(() => Promise.reject(busy()))).looks).toEqual({ alone: 3, together: 1 });
    const silent = () => Promise.reject(new Fault('transient', 'clickhouse_unavailable', 'no answer'));
    expect((await checked(silent)).looks).toEqual({ alone: 0, together: 1 });
  });
});

// A name lasts for ever, and counts towards the limits of its owner.
it('a redrive that the retention refuses registers no name', async () => {
  const letter = await one();
  const day = Math.floor(Date.now() / dayMs) - 40;
  const encodings: boolean[] = [];
  const admin = adminOn(busOf(0), claims, undefined, {
    encodeItem: async (_letter, { isForGood }) => {
      encodings.push(isForGood);
      return { part: { ...blockPart, day }, bytes: letter.bytes };
    },
    readKeptDays: async () => 30,
  });
  const received = { ...letter, header: { ...letter.header, reason: 'deferred_item_valid' as const } };
  await expect(admin.redrive(received)).rejects.toMatchObject({ code: 'not_redrivable' });
  expect(encodings).toEqual([false]);
});
