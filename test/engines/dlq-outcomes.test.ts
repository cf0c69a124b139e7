import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { publishConfirmed } from '../../src/bus/outbox.ts';
import { isActBegun } from '../../src/dead-letters/claims.ts';
import type { Letter } from '../../src/dead-letters/dead-letter.ts';
import { createOrphans } from '../../src/dead-letters/orphans.ts';
import { buckets } from '../../src/directory/keys.ts';
import { Fault } from '../../src/model/fault.ts';
import { createMessageAccountReader } from '../../src/outcomes/record-reader.ts';
import { encodeBlocksEnvelope } from '../../src/wire/blocks-envelope.ts';
import { adminOn, adminWithoutRecords } from '../support/outcomes/dead-letter-admin.ts';
import { readDeadLetters } from '../support/outcomes/dead-letters.ts';
import { createOutcomeReader, type OutcomeReader } from '../support/outcomes/outcomes.ts';
import {
  actOn,
  allStored,
  changeClickhouse,
  oneDead,
  prepareRefusedExport,
  type RefusedExport,
} from '../support/outcomes/refused-export.ts';
import { type GatedStack, startGatedStack } from '../support/stack/gated-stack.ts';
import { limitStream } from '../support/stack/stream-limits.ts';
import type { StepMatch } from '../support/steps.ts';
import { until } from '../support/until.ts';

let stack: GatedStack;
let bus: Bus;
let outcomes: OutcomeReader;
let next = 1;

beforeAll(async () => {
  stack = await startGatedStack({ duplicateWindowSeconds: 1 });
  bus = await connectBus(stack.engines.nats.url, 'test');
  outcomes = createOutcomeReader(stack);
});
afterAll(async () => {
  await outcomes?.close();
  await bus?.close();
  await stack?.stop();
});

const prepare = (): Promise<RefusedExport> => prepareRefusedExport(stack, bus, outcomes, next++);
const act = (action: 'redrive' | 'purge', sequence: number): Promise<void> => actOn(stack, action, sequence);

// A sender may repeat a request any number of times: the second judgement replaces the record that an act corrected.
describe('a repeat after the duplicate window', () => {
  it('of an export whose dead letter was redriven counts each item once', async () => {
    const sent = await prepare();
    await sent.send();
    expect(await sent.balance()).toEqual(oneDead);
    await sent.accept();
    await act('redrive', await sent.letter());
    expect(await sent.balance()).toEqual(allStored);
    await sent.repeatAfterTheWindow();
    expect(await sent.balance()).toEqual(allStored);
    expect(await sent.rows()).toBe(3);
  });

  it('of an export whose dead letter was purged counts its item as stored, and as purged no more', async () => {
    const sent = await prepare();
    await sent.send();
    expect(await sent.balance()).toEqual(oneDead);
    await act('purge', await sent.letter());
    expect(await sent.balance()).toEqual({
      received: 3,
      stored: 2,
      dropped: { purged_by_operator: 1 },
      deadLettered: 0,
    });
    await sent.accept();
    await sent.repeatAfterTheWindow();
    expect(await sent.balance()).toEqual(allStored);
    expect(await sent.rows()).toBe(3);
  });
});

const publishOfRecords: StepMatch = ({ from, text }) =>
  from === 'client' && /^HPUB ledger\.(outcomes|settled) /.test(text);

const killed = async (sent: RefusedExport): Promise<void> => {
  const hold = stack.gate('transfer-0', 'nats').hold('the record after the dead letter', publishOfRecords);
  await sent.send();
  await hold.arrived();
  await stack.transfer[0]?.kill();
  hold.lose();
};

/** An orderly stop while LEDGER has no room: the messages go back, their dead letters stay. */
const stoppedWithFullLedger = async (sent: RefusedExport): Promise<void> => {
  const restore = await limitStream(bus, 'LEDGER', 1);
  await sent.send();
  await until('the dead letter is kept', async () => (await sent.letter()) > 0);
  await stack.transfer[0]?.stop();
  await restore();
};

const listed = z.object({
  items: z.array(z.object({ sequence: z.number(), orphan: z.boolean().nullable() })),
});

/** Orphans as they are named a few minutes from now: the youngest dead letters may still get their record. */
const orphans = () =>
  createOrphans({
    bus,
    readAccounts: createMessageAccountReader(outcomes.clickhouse),
    isBegun: async (sequence) => isActBegun(await openKvBucket(bus, buckets.system), sequence),
    now: () => Date.now() + 300_000,
  });

const endings = [
  ['killed', killed, ['redrive', 'purge']],
  ['stopped while LEDGER is full', stoppedWithFullLedger, ['redrive']],
] as const;

// The next delivery may be judged otherwise: then the dead letter holds an item that is stored.
describe.each(endings)('transfer %s between a dead letter and its record', (_, end, acts) => {
  it.each(acts)(
    'leaves an orphan where the next delivery stores the item, and its %s changes no count',
    async (action) => {
      await outcomes.settled();
      const sent = await prepare();
      await end(sent);
      await sent.accept();
      stack.transfer[0]?.start();
      await stack.transfer[0]?.ready();
      expect(await sent.balance()).toEqual(allStored);
      const sequence = await sent.letter();
      // A line that is in LEDGER just now seems to wait since before the letter: only the clock of the search is ahead.
      await expect
        .poll(() => orphans().findOrphans(10, sequence), { timeout: 10_000 })
        .toEqual({
          orphans: [
            {
              ...{ sequence, stream: 'TRACES', dataId: undefined, appId: sent.appId, items: 1 },
              at: expect.any(Number),
            },
          ],
          next: undefined,
        });
      const list = await stack.api('GET', `/api/v1/dead-letters?app_id=${sent.appId}`);
      expect(listed.parse(list.body).items).toEqual([{ sequence, orphan: false }]);
      await act(action, sequence);
      expect(await sent.balance()).toEqual(allStored);
      expect(await sent.rows()).toBe(3);
      expect(await sent.letter()).toBe(0);
    },
  );
});

// A restored bus has the dead letters again that were redriven since its backup.
describe('a dead letter that is there again after its redrive', () => {
  it('is an orphan, and its purge counts nothing, also while the record of the redrive is on its way', async () => {
    const sent = await prepare();
    await sent.send();
    expect(await sent.balance()).toEqual(oneDead);
    await sent.accept();
    const kept = await (await bus.manager()).streams.getMessage('DEADLETTER', { seq: await sent.letter() });
    if (kept === null) throw new Error('no dead letter');
    await act('redrive', await sent.letter());
    expect(await sent.balance()).toEqual(allStored);
    await bus.js.publish(kept.subject, kept.data);
    const sequence = await sent.letter();
    // The balance and the record of the redrive are read from two tables, which one insert fills in turn.
    await expect
      .poll(async () => (await orphans().findOrphans(10, sequence)).orphans, { timeout: 10_000 })
      .toMatchObject([{ sequence, items: 1 }]);
    const admin = await adminWithoutRecords(bus);
    const letter = await admin.get(sequence);
    if (letter === undefined) throw new Error('no dead letter');
    await admin.purge(letter);
    expect(await sent.balance()).toEqual(allStored);
    expect(await sent.letter()).toBe(0);
  });
});

/** A message with a section of two items that cannot be read, for each of two applications. */
const publishUnreadable = async (appIds: readonly number[]): Promise<void> => {
  const section = Buffer.from('[{"span"');
  const arrivedAt = Date.now();
  const base = String(next++ * 1_000);
  const deferred = appIds.map((appId, index) => ({
    ...{
      appId,
      arrivedAt,
      base,
      bytes: section.length,
      policy: { aheadMsMax: undefined, ageMsMax: undefined },
    },
    ordinals: [2 * index, 2 * index + 1],
  }));
  const header = {
    version: 1,
    kind: 'spans',
    arrivedAt,
    key: { base, first: 0 },
    parts: [],
    outcomes: [],
  } as const;
  const sections = appIds.map(() => section);
  const payload = encodeBlocksEnvelope({ ...header, deferred }, sections);
  await publishConfirmed(bus, { subject: 'traces.0', messageId: `unreadable-${base}`, payload, version: 1 });
};

// The message is redriven as it is: its record is written again, however often.
describe('a message with sections that cannot be read', () => {
  it.each([0, 1, 2])(
    'counts as purged for each of its owners when it is purged after %i redrives',
    async (redrives) => {
      const applications = await Promise.all(
        ['one', 'two'].map((name) => stack.createApplication(`${name}${next++}`)),
      );
      const appIds = applications.map((application) => application.app_id);
      const unreadable = async () =>
        (await readDeadLetters(bus)).filter(({ header }) => header['reason'] === 'unreadable_message');
      await publishUnreadable(appIds);
      for (let redrive = 0; redrive <= redrives; redrive++) {
        const letter = await until('it is dead-lettered', async () =>
          (await unreadable()).find(({ header }) => header['redrive'] === redrive),
        );
        await outcomes.settled();
        await act(redrive < redrives ? 'redrive' : 'purge', letter.sequence);
      }
      expect(await unreadable()).toEqual([]);
      for (const appId of appIds)
        expect(await outcomes.settled({ appId })).toMatchObject([
          { received: 2, stored: 0, dropped: { purged_by_operator: 2 }, deadLettered: 0 },
        ]);
    },
  );
});

/** A malformed message, as transfer dead-letters it: one item without an owner. Its dead letter, once a record counts it. */
const malformed = async (): Promise<Letter> => {
  const bytes = Buffer.from(`malformed ${next++}`);
  await publishConfirmed(bus, {
    subject: 'traces.0',
    messageId: bytes.toString(),
    payload: bytes,
    version: 1,
  });
  const { sequence } = await until('it is dead-lettered', async () =>
    (await readDeadLetters(bus)).find((letter) => letter.bytes.equals(bytes)),
  );
  await outcomes.settled();
  const letter = await (await adminWithoutRecords(bus)).get(sequence);
  if (letter === undefined) throw new Error('no dead letter');
  return letter;
};

const ofNobody = async (): Promise<unknown> => (await outcomes.settled({ appId: 0 }))[0];

/** The same connection, on which no record gets to LEDGER: its process is killed before. */
const killedBeforeRecords = (): Bus => {
  const publish: Bus['js']['publish'] = async (subject, ...rest) => {
    if (subject.startsWith('ledger.')) throw new Fault('permanent', 'killed', 'the process was killed');
    return bus.js.publish(subject, ...rest);
  };
  const js: Bus['js'] = Object.create(bus.js, { publish: { value: publish } });
  return Object.create(bus, { js: { value: js } });
};

// Its letter is the only copy: an account without it would lead to its purge.
describe('the redrive of a malformed message', () => {
  it('that NATS refuses leaves its item dead-lettered, and its letter to a purge', async () => {
    const { sequence } = await malformed();
    const before = await ofNobody();
    const restore = await limitStream(bus, 'TRACES', 1);
    expect((await stack.api('POST', `/api/v1/dead-letters/${sequence}/redrive`, {})).status).toBe(503);
    expect(await ofNobody()).toEqual(before);
    expect(await orphans().findOrphans(10, sequence)).toEqual({ orphans: [], next: undefined });
    await act('purge', sequence);
    await restore();
    expect(await ofNobody()).toMatchObject({ deadLettered: 0, dropped: { purged_by_operator: 1 } });
  });

  it('that is killed between its message and its record leaves no orphan, and its repeat counts the item once', async () => {
    const letter = await malformed();
    const { sequence } = letter;
    const before = await ofNobody();
    const claims = await openKvBucket(bus, buckets.system);
    await expect(adminOn(killedBeforeRecords(), claims).redrive(letter)).rejects.toMatchObject({
      code: 'killed',
    });
    const again = await until('its redrive is refused again', async () =>
      (await readDeadLetters(bus)).find(
        (each) => each.bytes.equals(letter.bytes) && each.sequence > sequence,
      ),
    );
    expect(await ofNobody()).toEqual(before);
    expect(await orphans().findOrphans(10, sequence)).toEqual({ orphans: [], next: undefined });
    await act('redrive', sequence);
    expect((await readDeadLetters(bus)).map((each) => each.sequence)).not.toContain(sequence);
    expect(await ofNobody()).toEqual(before);
    await act('purge', again.sequence);
    expect(await ofNobody()).toMatchObject({ deadLettered: 0 });
  });
});

describe('the search for orphans', () => {
  it('names no dead letter that a record counts, and is unknown while ClickHouse does not answer', async () => {
    const sent = await prepare();
    await sent.send();
    expect(await sent.balance()).toEqual(oneDead);
    const sequence = await sent.letter();
    expect(await orphans().findOrphans(10, sequence)).toEqual({ orphans: [], next: undefined });
    const list = async () => {
      const { body } = await stack.api('GET', `/api/v1/dead-letters?app_id=${sent.appId}`);
      return listed.parse(body).items;
    };
    expect(await list()).toEqual([{ sequence, orphan: false }]);
    await changeClickhouse(stack, 'RENAME TABLE otel.ingest_outcomes TO otel.ingest_outcomes_away');
    expect(await list()).toEqual([{ sequence, orphan: null }]);
    await changeClickhouse(stack, 'RENAME TABLE otel.ingest_outcomes_away TO otel.ingest_outcomes');
    await sent.accept();
  });
});
