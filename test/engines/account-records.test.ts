import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { minuteKey } from '../../src/account/listed-minutes.ts';
import { readMissingRecords } from '../../src/account/missing-records.ts';
import { readOutlines } from '../../src/account/outlines.ts';
import { readItemsBeyond } from '../../src/account/records-beyond.ts';
import { countedBase, hashedBase } from '../../src/model/uid.ts';
import { minuteText, momentText } from '../../src/outcomes/times.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { insertRows } from '../support/stack/insert-rows.ts';
import { waitFor } from '../support/wait.ts';

const stream = 'METRICS';
const items = 4;
/** Two runs of receivers: each counts its messages from 0 on. */
const [one, other] = [1_400_001, 1_400_002];

let engines: TestEngines;
let clickhouse: Clickhouse;
/** Each test has a minute and an owner of its own. */
let minute = 60 * Math.floor(Date.now() / 60_000) - 86_400;
let dataId = 1_500_000;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});

const insert = (table: string, rows: readonly object[]) => insertRows(clickhouse, table, rows);

type Message = { readonly life: number; readonly counter: number };

const messagesOf = (life: number, counters: readonly number[]): Message[] =>
  counters.map((counter) => ({ life, counter }));

const recordOf = ({ life, counter }: Message) => ({
  ...{ pipeline: 'metrics', data_id: dataId, app_id: 0, base: countedBase(life, counter).text, first: 0 },
  ...{ ordinal: -1, redrive: 0, minute: minuteText(minute * 1_000), received: items },
  ...{ outcomes: { stored: items }, at: momentText(minute * 1_000) },
});

/** The lines of these messages as transfer writes them. */
const settle = (messages: readonly Message[], change: object = {}) =>
  insert(
    'ingest_lines',
    messages.map((message) => ({
      ...{ ...recordOf(message), stream, life: message.life, serial: message.counter + 1 },
      ...{ sent: minuteText(minute * 1_000), sequence: message.counter + 1, owners: 1, items },
      ...{ letters: [], letter_items: [], days: [], day_rows: [], day_sums: [], ...change },
    })),
  );

/** The same without their records, as a program wrote them that named a record by its lower half. */
const settleEarlier = (messages: readonly Message[]) =>
  insert(
    'ingest_settled',
    messages.map(({ life, counter }) => ({
      ...{ stream, life, minute: minuteText(minute * 1_000), serial: counter + 1, sequence: counter + 1 },
      ...{ data_id: dataId, app_id: 0, owners: 1, items, redrive: 0, at: minute, record: counter },
    })),
  );

const removeLines = (condition: string) =>
  clickhouse.run(
    `ALTER TABLE otel.ingest_settled DELETE WHERE data_id = ${dataId} AND ${condition} SETTINGS mutations_sync = 2`,
  );

const removeRecord = ({ life, counter }: Message) =>
  clickhouse.run(
    `ALTER TABLE otel.ingest_outcomes DELETE WHERE data_id = ${dataId} AND base = ${countedBase(life, counter).text}
     SETTINGS mutations_sync = 2`,
  );

const ageRow = z.object({ age: z.coerce.number() });

/** Lines younger than two seconds may still lack their record. */
const aged = () =>
  waitFor('lines of three seconds', 10_000, async () => {
    const [row] = await clickhouse.rows(
      ageRow,
      `SELECT toUnixTimestamp(now()) - toUnixTimestamp(max(at)) AS age FROM otel.ingest_settled WHERE data_id = ${dataId}`,
    );
    return row !== undefined && row.age >= 3;
  });

const missing = async () => {
  await aged();
  return readMissingRecords(clickhouse, stream, [minute]);
};

const ofOwner = (messages: number) => ({
  ...{ pipeline: 'metrics', dataId, appId: 0, minute, items: items * messages, messages },
});

/** What the lines of the minute name, and what records are there. */
const sums = async () => {
  await insert('ingest_published', [
    {
      ...{ stream, life: one, minute, data_id: 0, app_id: 0, messages: 1, items: 0, rows: 0, bytes: 0 },
      ...{ dropped: {}, sequence_first: 1, sequence_last: 1, closed: 1, ended: 0, version: 1 },
    },
  ]);
  const outlines = await readOutlines(clickhouse, {
    ...{ seconds: 600, minutes: [minute], withRecords: true, now: minute + 86_400 },
  });
  const outline = outlines.find((each) => minuteKey(each.stream, each.minute) === minuteKey(stream, minute));
  return { placed: outline?.placed, recorded: outline?.recorded };
};

const begin = (): void => {
  minute += 600;
  dataId += 1;
};

describe('a record that is gone', () => {
  it('shows although another run of a receiver has one of the owner with the same number', async () => {
    begin();
    await settle([...messagesOf(one, [1, 2, 3]), ...messagesOf(other, [1, 2, 3])]);
    await removeRecord({ life: other, counter: 2 });
    expect(await missing()).toEqual([ofOwner(1)]);
  });

  it('shows where it is that of the first message of a process', async () => {
    begin();
    await settle([...messagesOf(one, [0, 1]), ...messagesOf(other, [0])]);
    await removeRecord({ life: other, counter: 0 });
    expect(await missing()).toEqual([ofOwner(1)]);
    await removeRecord({ life: one, counter: 0 });
    expect(await missing()).toEqual([ofOwner(2)]);
  });

  // A metadata process of before reads the lower half alone until it is replaced.
  it('is named by its line in two halves, of which the lower one is that of earlier programs', async () => {
    begin();
    await settle(messagesOf(other, [5]));
    const halves = z.object({ record: z.number(), record_high: z.number() });
    expect(
      await clickhouse.rows(
        halves,
        `SELECT record, record_high FROM otel.ingest_settled WHERE data_id = ${dataId}`,
      ),
    ).toEqual([{ record: 5, record_high: other }]);
  });

  it('is named by its line with the lower bits of a hashed base, so that the line stays small', async () => {
    begin();
    const bases = [1, 2, 3].map((seed) => hashedBase(createHash('sha256').update(`${seed}`).digest()).text);
    for (const [counter, base] of bases.entries()) await settle(messagesOf(one, [counter]), { base });
    const high = z.object({ record_high: z.number() });
    expect(
      await clickhouse.rows(
        high,
        `SELECT DISTINCT record_high FROM otel.ingest_settled WHERE data_id = ${dataId}`,
      ),
    ).toEqual([{ record_high: 2 ** 30 }]);
    const whole = await sums();
    expect(whole.recorded).toBe(whole.placed);
    expect(await missing()).toEqual([]);
    await clickhouse.run(
      `ALTER TABLE otel.ingest_outcomes DELETE WHERE data_id = ${dataId} AND base = ${bases[1]} SETTINGS mutations_sync = 2`,
    );
    expect(await missing()).toEqual([ofOwner(1)]);
    const unequal = await sums();
    expect(unequal.recorded).not.toBe(unequal.placed);
  });

  it('changes the sums although the record of another run with the same number is there twice', async () => {
    begin();
    await settle([...messagesOf(one, [0, 1]), ...messagesOf(other, [0, 1])]);
    const whole = await sums();
    expect(whole.recorded).toBe(whole.placed);
    await removeRecord({ life: other, counter: 1 });
    await clickhouse.run('SYSTEM STOP MERGES otel.ingest_outcomes');
    onTestFinished(() => clickhouse.run('SYSTEM START MERGES otel.ingest_outcomes'));
    await insert('ingest_outcomes', [recordOf({ life: one, counter: 1 })]);
    const swapped = await sums();
    expect(swapped.placed).toBe(whole.placed);
    expect(swapped.recorded).not.toBe(swapped.placed);
  });

  it('is sought by its lower half where the line is of an earlier program', async () => {
    begin();
    const messages = messagesOf(one, [0, 1, 2]);
    await settleEarlier(messages);
    await insert('ingest_outcomes', messages.map(recordOf));
    expect(await readMissingRecords(clickhouse, stream, [minute])).toEqual([]);
    await removeRecord({ life: one, counter: 0 });
    const equal = await sums();
    expect(equal.recorded).toBe(equal.placed);
    expect(await readMissingRecords(clickhouse, stream, [minute])).toEqual([]);
    await removeRecord({ life: one, counter: 2 });
    const unequal = await sums();
    expect(unequal.recorded).not.toBe(unequal.placed);
    expect(await readMissingRecords(clickhouse, stream, [minute])).toEqual([ofOwner(1)]);
    // A line of this program beside them has the whole name.
    await settle(messagesOf(other, [1]));
    expect(await missing()).toEqual([ofOwner(1)]);
  });
});

describe('the items of records whose line is gone', () => {
  const beyond = async (): Promise<number> => {
    const owner = { pipeline: 'metrics' as const, dataId, appId: 0 };
    const lost = { ...owner, kind: 'lost_in_the_stream' as const, stream, minute, items, messages: 1 };
    const read = await readItemsBeyond(clickhouse, stream, [lost]);
    return read(owner, minute);
  };

  it('are those of no line of the minute, of any stream, life or none', async () => {
    begin();
    await settle(messagesOf(one, [0, 1]));
    await settle(messagesOf(other, [0, 1]), { stream: 'METRICS-x' });
    await settle(messagesOf(other, [7]), { life: 0, serial: 0 });
    expect(await beyond()).toBe(0);
    await removeLines(`stream = 'METRICS-x' AND serial = 1`);
    expect(await beyond()).toBe(items);
  });

  it('are not fewer for a line whose record a repeat has written again under a later minute', async () => {
    begin();
    await settle(messagesOf(one, [0, 1, 2]));
    await removeRecord({ life: one, counter: 1 });
    expect(await beyond()).toBe(0);
    await removeLines('serial = 3');
    expect(await beyond()).toBe(items);
  });

  it('are there although the line of a redrive of their message is', async () => {
    begin();
    await settle(messagesOf(one, [1]));
    await settle(messagesOf(one, [1]), { life: 0, serial: 0, sequence: 90, redrive: 1, outcomes: {} });
    await removeLines('redrive = 0');
    expect(await beyond()).toBe(items);
  });

  it('are distinguished from those of earlier lines with the same lower half, and from lines without a name', async () => {
    begin();
    const messages = [...messagesOf(one, [0, 1]), ...messagesOf(other, [0, 1])];
    await settleEarlier(messages);
    await insert(
      'ingest_outcomes',
      messages.map((message) => ({ ...recordOf(message), book: 1 })),
    );
    expect(await beyond()).toBe(0);
    await removeLines(`life = ${other} AND serial = 2`);
    expect(await beyond()).toBe(items);
    await insert('ingest_settled', [
      {
        ...{ stream, life: other, minute, serial: 9, sequence: 9, data_id: dataId, owners: 1, items },
        at: minute,
      },
    ]);
    expect(await beyond()).toBe(0);
  });
});
