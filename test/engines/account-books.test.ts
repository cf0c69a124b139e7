import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readBooks, readDoubtful, withoutLine } from '../../src/account/books.ts';
import { minuteKey } from '../../src/account/listed-minutes.ts';
import { readMissingRecords } from '../../src/account/missing-records.ts';
import { type Outline, readOutlines } from '../../src/account/outlines.ts';
import { readReceived } from '../../src/account/received.ts';
import { readRecordSums } from '../../src/account/record-sums.ts';
import { createTouchedTables } from '../../src/account/touched-tables.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { BookHistory, firstMinute, type SettledRow } from '../support/account/book-history.ts';
import { distinctLines, newestLines, plainBooks, standingIn } from '../support/account/plain-books.ts';
import { randomOf, shuffled } from '../support/otlp/plain/mutations.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { insertRows } from '../support/stack/insert-rows.ts';

const historyCount = 300;
const read = 40;

type Case = { readonly stream: string; readonly ownerFirst: number; readonly history: BookHistory };

const random = randomOf(17);
/** Of two messages without a serial that a stream gave one sequence, one replaces the other: then it is chance which one is read. */
const isClear = ({ settled }: BookHistory): boolean =>
  [
    ...Map.groupBy(
      settled.filter(({ life }) => life === 0),
      ({ minute, sequence, owner }) => `${minute} ${sequence} ${owner}`,
    ).values(),
  ].every((group) => new Set(group.map(({ items }) => items)).size === 1);

/** Each history in a stream of its own, with owners of its own. */
const cases: Case[] = Array.from({ length: historyCount }, (_, index) => {
  const ownerFirst = 1_500_000 + 10 * index;
  return {
    stream: `METRICS-h${index}`,
    ownerFirst,
    history: new BookHistory(randomOf(1_000 + index), 60, ownerFirst),
  };
}).filter(({ history }) => isClear(history));

/** Outlines of what was written in the last ten minutes, long after the minutes of these lines. */
const scope = { seconds: 600, minutes: [], withRecords: false, now: firstMinute + 86_400 };

/** The settlement of a redrive of a message: it is on no first way. */
const redriven = (row: SettledRow): SettledRow => ({ ...row, sequence: row.sequence + 1_000, redrive: 1 });

let engines: TestEngines;
let clickhouse: Clickhouse;

const named = ({ owner, ...row }: { readonly owner: number }, stream: string): object => ({
  ...{ ...row, stream, data_id: owner, app_id: 0 },
});

/** Inserts the rows in any order, some twice, in pieces that are parts of their own. */
const insert = async (table: string, rows: readonly object[]): Promise<void> => {
  const doubled = rows.filter(() => random(4) === 0);
  const lines = shuffled(random, [...rows, ...doubled]).map((row) => JSON.stringify(row));
  const pieces = 5;
  for (let piece = 0; piece < pieces; piece++)
    await clickhouse.insert(`INSERT INTO otel.${table} FORMAT JSONEachRow`, [
      Buffer.from(lines.filter((_, index) => index % pieces === piece).join('\n')),
    ]);
};

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true }, { hasTables: true });
  clickhouse = createClickhouse({ url: engines.clickhouse.url });
  for (const table of ['ingest_published', 'ingest_settled', 'ingest_doubtful'])
    await clickhouse.run(`SYSTEM STOP MERGES otel.${table}`);
  const published = cases.flatMap(({ stream, history }) =>
    history.published.map(({ sequenceFirst, sequenceLast, ...line }) => ({
      ...named(line, stream),
      ...{ sequence_first: sequenceFirst, sequence_last: sequenceLast, rows: 0, bytes: 0, dropped: {} },
    })),
  );
  const settled = cases.flatMap(({ stream, history }) =>
    history.settled.flatMap((line, index) =>
      [line, ...(index % 5 === 0 ? [redriven(line)] : [])].map((row) => named(row, stream)),
    ),
  );
  const doubtful = cases.flatMap(({ stream, history }) =>
    history.doubtful.map((line) => ({ ...named(line, stream), base: '1', first: 0, told: 0 })),
  );
  await insert('ingest_published', published);
  await insert('ingest_settled', settled);
  await insert('ingest_doubtful', doubtful);
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});

const sorted = <T extends object>(rows: readonly T[]): string[] =>
  rows
    .map((row) => JSON.stringify(Object.entries(row).toSorted(([a], [b]) => a.localeCompare(b))))
    .toSorted();

const total = (counts: readonly number[]): number => counts.reduce((sum, each) => sum + each, 0);

describe('the books as ClickHouse gives them', () => {
  it('are those of a model, from doubled lines, versions out of order, and owners without the line of messages', async () => {
    for (const { stream, history } of cases.slice(0, read)) {
      const all = [...new Set(history.messages.map(({ minute }) => minute))];
      const minutes = random(2) === 0 ? all : all.slice(0, 1 + random(all.length));
      const books = await readBooks(clickhouse, stream, minutes);
      const expected = plainBooks(history, new Set(minutes));
      expect(sorted(books.published), stream).toEqual(sorted(expected.published));
      expect(sorted(books.settled), stream).toEqual(sorted(expected.settled));
      expect(sorted(books.messages), stream).toEqual(sorted(expected.messages));
    }
  });

  it('know of each message whether it has a line, and whether its publish had no answer', async () => {
    for (const { stream, history } of cases.slice(0, 10)) {
      const { isDoubtful } = standingIn(history);
      const places = history.messages.filter(({ life }) => life > 0);
      const isOpen = await readDoubtful(clickhouse, stream, places);
      expect(places.filter(isOpen)).toEqual(places.filter(isDoubtful));
      const left = await withoutLine(clickhouse, stream, places);
      expect(left).toEqual(
        places.filter(
          ({ life, serial }) => !history.settled.some((line) => line.life === life && line.serial === serial),
        ),
      );
    }
  });

  it('have the sums of each owner, in all and by the minute', async () => {
    type Sum = { dataId: number; minute: number; published: number; counted: number; uncounted: number };
    const parts = cases.flatMap(({ history }): Sum[] => {
      const standing = standingIn(history);
      const nothing = { published: 0, counted: 0, uncounted: 0 };
      return [
        ...newestLines(history.published).flatMap(({ owner: dataId, minute, items }) =>
          dataId === 0 ? [] : [{ ...nothing, dataId, minute, published: items }],
        ),
        ...distinctLines(history.settled).map((line) => {
          const isCounted = standing.of(line, line.owner) === 'counted';
          const sums = { counted: isCounted ? line.items : 0, uncounted: isCounted ? 0 : line.items };
          return { ...nothing, dataId: line.owner, minute: line.minute, ...sums };
        }),
      ];
    });
    const sumsOf = (byMinute: boolean, of: readonly Sum[]) =>
      [...Map.groupBy(of, ({ dataId, minute }) => `${dataId} ${byMinute ? minute : ''}`).values()].map(
        (group) => ({
          ...{ pipeline: 'metrics', dataId: group[0]?.dataId, appId: 0 },
          ...(byMinute ? { minute: group[0]?.minute } : {}),
          published: total(group.map((each) => each.published)),
          counted: total(group.map((each) => each.counted)),
          uncounted: total(group.map((each) => each.uncounted)),
        }),
      );
    // Owner 0 has messages without items, in every stream.
    const named = (rows: readonly { readonly dataId?: number | undefined }[]) =>
      rows.filter(({ dataId }) => dataId !== 0);
    for (const byMinute of [false, true])
      expect(sorted(named(await readReceived(clickhouse, {}, byMinute ? 'minute' : undefined)))).toEqual(
        sorted(named(sumsOf(byMinute, parts))),
      );
    const dataId = 1 + (cases[3]?.ownerFirst ?? 0);
    const sinceMs = (firstMinute + 60) * 1000;
    const later = parts.filter((each) => each.dataId === dataId && each.minute >= firstMinute + 60);
    expect(await readReceived(clickhouse, { dataId, sinceMs }, undefined)).toEqual(sumsOf(false, later));
  });

  // A DateTime of a day before that is one of 2106.
  it('are read from the first day of 1970 on, too', async () => {
    const [one] = cases;
    const all = await readReceived(clickhouse, {}, undefined);
    for (const sinceMs of [0, 1_000, 86_399_000, 86_400_000])
      expect(sorted(await readReceived(clickhouse, { sinceMs }, undefined)), `${sinceMs}`).toEqual(
        sorted(all),
      );
    const minutes = [...new Set(one?.history.messages.map(({ minute }) => minute))];
    const stream = one?.stream ?? '';
    const books = await readBooks(clickhouse, stream, [60, ...minutes]);
    expect(books.messages.length).toBeGreaterThan(0);
    expect(books).toEqual(await readBooks(clickhouse, stream, minutes));
  });

  it('are outlined by life and minute: the last version of each line, and every settled row', async () => {
    const outlines = await readOutlines(clickhouse, { ...scope, seconds: 3_600 });
    const expected = cases.flatMap(({ stream, history }) => {
      const lines = Map.groupBy(newestLines(history.published), ({ life, minute }) => `${life} ${minute}`);
      return [...lines.values()].map((group) => ({
        ...{ stream, life: group[0]?.life, minute: group[0]?.minute },
        messages: total(group.map(({ owner, messages }) => (owner === 0 ? messages : 0))),
        items: total(group.map(({ items }) => items)),
      }));
    });
    const lines = ({ stream, life, minute, messages, items }: Outline) => ({
      ...{ stream, life, minute, messages, items },
    });
    expect(sorted(outlines.map(lines))).toEqual(sorted(expected));
    for (const { stream, life, minute, settledItems } of outlines) {
      const settled = cases.find((each) => each.stream === stream)?.history.settled ?? [];
      const ofPlace = settled.filter((line) => line.life === life && line.minute === minute);
      const distinct = Map.groupBy(ofPlace, (line) => JSON.stringify(line));
      // Doubled rows are there more than once where they lie in different parts.
      expect(settledItems).toBeGreaterThanOrEqual(
        total([...distinct.values()].map(([row]) => row?.items ?? 0)),
      );
      expect(settledItems).toBeLessThanOrEqual(2 * total(ofPlace.map((line) => line.items)));
    }
  });

  it('show the messages whose record is gone, by owner and minute, and no repeats, redrives or lines of earlier programs', async () => {
    const minute = firstMinute + 600;
    const [owner, other] = [1_900_000, 1_900_001];
    const place = { life: 9, minute, owner, sequence: 0, owners: 1, items: 4, redrive: 0 };
    const settled = [
      ...[1, 2, 3].map((serial) => ({ ...place, serial, record: 100 + serial })),
      // Settled again under the key of the first one.
      { ...place, serial: 4, record: 101 },
      { ...place, serial: 5, record: 0 },
      { ...place, serial: 6, record: 106, redrive: 1 },
      { ...place, serial: 7, record: 107, owner: other, items: 0 },
      { ...place, serial: 8, record: 102, owner: other, items: 6 },
      // Its record has a base beyond 32 bits, and the second part of a request.
      { ...place, serial: 9, record: 109, owner: other },
      { ...place, serial: 10, record: 103, minute: minute + 60 },
    ];
    const record = {
      ...{ pipeline: 'metrics', app_id: 0, first: 0, ordinal: -1, redrive: 0, minute, received: 4 },
      ...{ outcomes: { stored: 4 }, at: firstMinute, book: 1 },
    };
    const records = [
      { ...record, data_id: owner, base: '101' },
      { ...record, data_id: other, base: String(5n * 2n ** 32n + 9n), first: 100 },
      // A record of a redrive is none of the message's first way.
      { ...record, data_id: owner, base: '103', redrive: 1, ordinal: 0 },
    ];
    await insert(
      'ingest_settled',
      settled.map((row) => ({ ...named(row, 'METRICS'), at: firstMinute })),
    );
    await insert('ingest_outcomes', records);
    const missing = await readMissingRecords(clickhouse, 'METRICS', [minute, minute + 60]);
    const common = { pipeline: 'metrics', appId: 0 };
    expect(sorted(missing)).toEqual(
      sorted([
        { ...common, dataId: owner, minute, items: 8, messages: 2 },
        { ...common, dataId: owner, minute: minute + 60, items: 4, messages: 1 },
        { ...common, dataId: other, minute, items: 6, messages: 1 },
      ]),
    );
    expect(await readMissingRecords(clickhouse, 'METRICS', [])).toEqual([]);
  });

  it('say by number and sum whether the records of a minute are those that its lines name', async () => {
    const minute = firstMinute + 1_200;
    const stream = 'TRACES';
    const line = { life: 9, minute, sequence: 0, owners: 1, items: 4, redrive: 0 };
    const settled = [
      { ...named({ ...line, owner: 1 }, stream), serial: 1, record: 7 },
      // Of a message without a serial.
      { ...named({ ...line, owner: 2 }, stream), life: 0, serial: 0, record: 8 },
      // None of them has a record of its own.
      { ...named({ ...line, owner: 0 }, stream), serial: 2, items: 0, record: 9 },
      { ...named({ ...line, owner: 3 }, stream), serial: 3, record: 0 },
      { ...named({ ...line, owner: 3 }, stream), serial: 4, record: 10, redrive: 1 },
    ];
    const head = { sequence_first: 1, sequence_last: 4, rows: 0, bytes: 0, dropped: {}, closed: 4, ended: 0 };
    const published = { stream, life: 9, minute, data_id: 0, app_id: 1, messages: 4, items: 16, version: 1 };
    const record = {
      ...{ pipeline: 'traces', data_id: 0, app_id: 1, ordinal: -1, redrive: 0, minute, received: 4 },
      ...{ outcomes: { stored: 4 }, at: firstMinute, book: 1 },
    };
    const insertOne = (table: string, rows: readonly object[]) => insertRows(clickhouse, table, rows);
    await insertOne('ingest_settled', settled);
    const heads = { ...published, app_id: 0, items: 0 };
    await insertOne('ingest_published', [
      { ...published, ...head },
      { ...heads, ...head },
    ]);
    await insertOne('ingest_outcomes', [
      { ...record, base: String(2n ** 32n), first: 7 },
      { ...record, base: '8', first: 0 },
      { ...record, base: '10', first: 0, redrive: 1 },
    ]);
    expect((await readRecordSums(clickhouse, [minute, minute + 60])).get(minuteKey(stream, minute))).toEqual({
      whole: `2 ${2n ** 32n + 15n}`,
      lower: '2 15',
    });
    const outlines = await readOutlines(clickhouse, { ...scope, minutes: [minute], withRecords: true });
    expect(outlines.filter((each) => each.stream === stream && each.minute === minute)).toEqual([
      {
        ...{ stream, life: 9, minute, messages: 4, items: 16, settledItems: 8 },
        ...{ placed: '2 15', recorded: '2 15' },
      },
    ]);
  });

  it('are outlined also for an old minute of which a message was settled just now', async () => {
    const minute = firstMinute + 1_800;
    const stream = 'LOGS';
    const line = { stream, life: 9, minute, data_id: 0, app_id: 5 };
    const published = { ...line, messages: 2, items: 6, closed: 2, ended: 0, version: 1, at: minute };
    const settled = { ...line, owners: 1, items: 3, redrive: 0, record: 1 };
    const insertRow = (table: string, row: object) =>
      clickhouse.insert(`INSERT INTO otel.${table} FORMAT JSONEachRow`, [Buffer.from(JSON.stringify(row))]);
    await insertRow('ingest_published', published);
    await insertRow('ingest_settled', { ...settled, serial: 1, sequence: 1, at: minute });
    const outlined = async (minutes: readonly number[], now = scope.now) => {
      const outlines = await readOutlines(clickhouse, { ...scope, minutes, now });
      return outlines
        .filter((each) => each.stream === stream)
        .map(({ items, settledItems }) => ({ items, settledItems }));
    };
    expect(await outlined([])).toEqual([]);
    expect(await outlined([minute])).toEqual([{ items: 6, settledItems: 3 }]);
    await insertRow('ingest_settled', { ...settled, serial: 2, sequence: 2 });
    expect(await outlined([])).toEqual([{ items: 6, settledItems: 6 }]);
    // While the minute goes on its lines would have been written of late.
    expect(await outlined([], minute)).toEqual([]);
    expect(await outlined([], minute + 79)).toEqual([]);
    expect(await outlined([], minute + 80)).toEqual([{ items: 6, settledItems: 6 }]);
    expect(await outlined([], minute - 1)).toEqual([{ items: 6, settledItems: 6 }]);
  });

  // Ninety days of lines, of which an account of an hour needs those of a day.
  it('are not read from long before the period that is asked for', async () => {
    const old = 400_000;
    const lines = `number AS life, now() - 20 * 86400 AS at FROM numbers(${old})`;
    await clickhouse.run(
      `INSERT INTO otel.ingest_published (stream, life, at) SELECT 'METRICS-old', ${lines}`,
    );
    await clickhouse.run(
      `INSERT INTO otel.ingest_doubtful (stream, life, at) SELECT 'METRICS-old', ${lines}`,
    );
    const bounded: Clickhouse = {
      ...clickhouse,
      rows: (schema, query, options = {}) =>
        clickhouse.rows(schema, query, { ...options, settings: { max_rows_to_read: old } }),
    };
    const minute = Math.floor(Date.now() / 60_000) * 60;
    const line = { stream: 'METRICS', life: 9, minute, data_id: 1_800_001, app_id: 0 };
    await insert('ingest_published', [
      { ...line, data_id: 0, messages: 2, closed: 2, version: 1 },
      { ...line, messages: 1, items: 1, version: 1 },
    ]);
    await insert('ingest_settled', [
      { ...line, serial: 1, sequence: 1, owners: 1, items: 1 },
      { ...line, serial: 2, sequence: 2, owners: 1, items: 2 },
    ]);
    await insert('ingest_doubtful', [{ ...line, serial: 2, items: 2 }]);
    expect(await readReceived(bounded, { sinceMs: minute * 1000 }, undefined)).toEqual([
      { pipeline: 'metrics', dataId: 1_800_001, appId: 0, published: 1, counted: 1, uncounted: 2 },
    ]);
  });

  it('count what the own line of an owner reaches, for few such owners and for thousands', async () => {
    const ownersOf = (count: number): number[] =>
      Array.from({ length: count }, (_, index) => 1_700_000 + index);
    for (const [index, count] of [3, 5_000].entries()) {
      const [stream, minute] = [`METRICS-own${index}`, firstMinute + 2_400];
      const line = {
        ...{ stream, life: 9, minute, app_id: 0, messages: 1, rows: 0, bytes: 0, dropped: {} },
        ...{ sequence_first: 1, sequence_last: 1, ended: 0, version: 1 },
      };
      // A receiver was killed while it sent its lines: those of the owners reach to 2, and the line of all messages to 1.
      const lines = ownersOf(count).map((owner) => ({ ...line, data_id: owner, items: 3, closed: 2 }));
      const settled = ownersOf(count).flatMap((owner) =>
        [1, 2, 3].map((serial) => ({
          ...{ stream, life: 9, minute, serial, sequence: serial, data_id: owner, app_id: 0 },
          ...{ owners: count, items: 1, redrive: 0, record: 1 },
        })),
      );
      await insert('ingest_published', [{ ...line, data_id: 0, items: 0, closed: 1 }, ...lines]);
      await insert('ingest_settled', settled);
      const books = await readBooks(clickhouse, stream, [minute]);
      expect(books.settled).toHaveLength(count);
      expect(books.settled.filter(({ counted, beyond }) => counted !== 2 || beyond !== 1)).toEqual([]);
      expect(books.messages).toMatchObject([{ counted: 2, beyond: 1, short: 0 }]);
    }
  });

  it('say that lines were changed or removed, and not that some came', async () => {
    const touched = createTouchedTables(clickhouse);
    const isTouched = async () => (await touched.look()).isTouched;
    const row = { stream: 'OTEL_METRICS', life: 9, minute: firstMinute, serial: 1, data_id: 0, app_id: 7 };
    const insertAt = (at: number) =>
      clickhouse.insert('INSERT INTO otel.ingest_settled FORMAT JSONEachRow', [
        Buffer.from(JSON.stringify({ ...row, at })),
      ]);
    const [day, other] = [firstMinute - 7 * 86_400, firstMinute - 8 * 86_400];
    await insertAt(day);
    expect([await isTouched(), await isTouched()]).toEqual([true, false]);
    await insertAt(day);
    await insertAt(other);
    expect(await isTouched()).toBe(false);
    await clickhouse.run(
      'ALTER TABLE otel.ingest_outcomes DELETE WHERE data_id = 1900001 SETTINGS mutations_sync = 1',
    );
    expect([await isTouched(), await isTouched()]).toEqual([true, false]);
    const partition = new Date(other * 1000).toISOString().slice(0, 10);
    await clickhouse.run(`ALTER TABLE otel.ingest_settled DROP PARTITION '${partition}'`);
    expect([await isTouched(), await isTouched()]).toEqual([true, false]);
  });

  it('say whether a message is known whose publish ended without an answer', async () => {
    const touched = createTouchedTables(clickhouse);
    await clickhouse.run('TRUNCATE TABLE otel.ingest_doubtful');
    await touched.look();
    expect(await touched.look()).toEqual({ isTouched: false, hasDoubtful: false });
    const line = { stream: 'OTEL_METRICS', life: 9, serial: 1, minute: firstMinute, told: 1 };
    await clickhouse.insert('INSERT INTO otel.ingest_doubtful FORMAT JSONEachRow', [
      Buffer.from(JSON.stringify(line)),
    ]);
    expect(await touched.look()).toEqual({ isTouched: false, hasDoubtful: true });
  });

  it('say that a part was dropped although more lines came since, and not that parts were merged', async () => {
    const touched = createTouchedTables(clickhouse);
    const isTouched = async () => (await touched.look()).isTouched;
    const row = { stream: 'OTEL_METRICS', life: 9, minute: firstMinute, data_id: 0, app_id: 7 };
    const at = firstMinute - 9 * 86_400;
    const insertSerials = (serials: readonly number[]) =>
      clickhouse.insert('INSERT INTO otel.ingest_settled FORMAT JSONEachRow', [
        Buffer.from(serials.map((serial) => JSON.stringify({ ...row, serial, at })).join('\n')),
      ]);
    const partition = new Date(at * 1000).toISOString().slice(0, 10);
    const partOf = z.object({ name: z.string() });
    await clickhouse.run('SYSTEM START MERGES otel.ingest_settled');
    // Without the doubled lines of above, which a merge removes.
    await clickhouse.run('OPTIMIZE TABLE otel.ingest_settled FINAL');
    await touched.look();
    await insertSerials([1, 2]);
    await insertSerials([3]);
    expect(await isTouched()).toBe(false);
    await clickhouse.run(`OPTIMIZE TABLE otel.ingest_settled PARTITION '${partition}' FINAL`);
    expect(await isTouched()).toBe(false);
    await clickhouse.run('SYSTEM STOP MERGES otel.ingest_settled');
    const [part] = await clickhouse.rows(
      partOf,
      `SELECT name FROM system.parts WHERE active AND database = 'otel' AND table = 'ingest_settled' AND partition = '${partition}'
       AND rows > 0`,
    );
    await clickhouse.run(`ALTER TABLE otel.ingest_settled DROP PART '${part?.name}'`);
    await insertSerials([4, 5, 6, 7]);
    expect([await isTouched(), await isTouched()]).toEqual([true, false]);
  });
});
