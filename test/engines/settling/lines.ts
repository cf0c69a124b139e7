import { headers as newHeaders } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { envelopeVersionHeader, serialHeader } from '../../../src/bus/message-headers.ts';
import { minuteText } from '../../../src/outcomes/times.ts';
import { type BlocksHeader, encodeBlocksEnvelope } from '../../../src/wire/blocks-envelope.ts';
import { type MessageSerial, serialText } from '../../../src/wire/message-serial.ts';
import { encodeEnvelope, type MetricsHeader, type Part } from '../../../src/wire/metrics-envelope.ts';
import { createOutcomeReader, type OutcomeReader } from '../../support/outcomes/outcomes.ts';
import { type LiveRecords, openLiveRecords } from '../../support/stack/live-records.ts';
import type { Report, Stack } from '../../support/stack/stack.ts';
import { sharedStack } from './stack.ts';

let stack: Stack;
let live: LiveRecords;
let outcomes: OutcomeReader;

beforeAll(async () => {
  stack = await sharedStack();
  live = await openLiveRecords(stack);
  outcomes = createOutcomeReader(stack);
});
afterAll(async () => {
  await outcomes?.close();
  await live?.close();
});

const lettersSchema = z.object({ items: z.array(z.object({ sequence: z.number() })) });

const arrivedAt = Date.now() - 600_000;
const minute = Math.floor(arrivedAt / 60_000) - 2;
const sentAt = minuteText(minute * 60_000);

/** Publishes a message as a receiver does; returns its sequence. */
const publish = async (subject: string, payload: Uint8Array, serial?: MessageSerial): Promise<number> => {
  const headers = newHeaders();
  headers.set(envelopeVersionHeader, '1');
  if (serial !== undefined) headers.set(serialHeader, serialText(serial));
  return (await live.bus.js.publish(subject, payload, { headers })).seq;
};

/** A part whose rows begin with `uid`; the value of each is text of line protocol. */
const partOf = (report: Report, uid: number, values: readonly string[]): [Part, Buffer] => {
  const table = report.result_table.table_id;
  const rows = values.map((value, i) => `${table},target=a up=${value},uid=${uid + i}i ${Date.now()}\n`);
  const bytes = Buffer.from(rows.join(''));
  const part: Part = {
    ...{
      dataId: report.data_source.mon_data_id,
      table,
      layout: 'wide',
      rows: rows.length,
      points: rows.length,
    },
    ...{ base: String(uid), first: 0, last: rows.length - 1, timeMin: 1, timeMax: 2, bytes: bytes.length },
  };
  return [part, bytes];
};

const message = (
  parts: readonly [Part, Buffer][],
  change: Partial<MetricsHeader> = {},
  deferred: readonly Buffer[] = [],
): Buffer => {
  const base = parts[0]?.[0].base ?? '1';
  const header: MetricsHeader = {
    ...{ version: 1, kind: 'metrics', arrivedAt, key: { base, first: 0 } },
    ...{ parts: parts.map(([part]) => part), deferred: [], outcomes: [] },
    ...change,
  };
  return encodeEnvelope(header, [...parts.map(([, bytes]) => bytes), ...deferred]);
};

const placesOf = async (stream: string, sequence: number): Promise<Record<string, unknown>[]> => {
  await outcomes.settled();
  return stack.spansQuery(
    `SELECT life, serial, toString(minute) AS minute, data_id, app_id, owners, items, redrive FROM otel.ingest_settled
      WHERE stream = '${stream}' AND sequence = ${sequence} ORDER BY data_id, app_id`,
  );
};

const lettersOf = (dataId: number): Promise<Record<string, unknown>[]> =>
  stack.spansQuery(
    `SELECT ordinal, redrive, letters, letter_items, book FROM otel.ingest_outcomes FINAL
      WHERE pipeline = 'metrics' AND data_id = ${dataId}
      ORDER BY ordinal, redrive`,
  );

const dataIdOf = (report: Report): number => report.data_source.mon_data_id;

// The publishers' book names the same message by its life and serial: one that is settled and has no line would read as lost.
describe('a settled message', () => {
  it('of two data ids has a line for each, with the place of the message', async () => {
    const [a, b] = [await stack.createReport('settled-a'), await stack.createReport('settled-b')];
    const drops = [{ dataId: dataIdOf(b), dropped: { metrics_empty: 3 } }];
    const payload = message([partOf(a, 5_000, ['1', '2']), partOf(b, 5_002, ['3'])], { outcomes: drops });
    const sequence = await publish('metrics.0', payload, { life: 9_000_001, serial: 77, minute });
    const place = { life: 9_000_001, serial: '77', minute: sentAt, app_id: '0', owners: 2, redrive: 0 };
    expect(await placesOf('METRICS', sequence)).toEqual([
      { ...place, data_id: String(dataIdOf(a)), items: 2 },
      { ...place, data_id: String(dataIdOf(b)), items: 4 },
    ]);
    expect(await lettersOf(dataIdOf(a))).toMatchObject([{ letters: [], letter_items: [], book: 1 }]);
  });

  it('without a serial counts under life 0 and the minute of its arrival', async () => {
    const report = await stack.createReport('settled-unnumbered');
    const sequence = await publish('metrics.0', message([partOf(report, 5_100, ['1'])]));
    expect(await placesOf('METRICS', sequence)).toMatchObject([
      { life: 0, serial: '0', minute: minuteText(arrivedAt), items: 1, owners: 1 },
    ]);
  });

  it('of spans has the line of each application', async () => {
    const { app_id: appId } = await stack.createApplication('settled-spans');
    const header: BlocksHeader = {
      ...{ version: 1, kind: 'spans', arrivedAt, key: { base: '6000', first: 0 }, parts: [], deferred: [] },
      outcomes: [{ appId, dropped: { span_id_invalid: 2 } }],
    };
    const serial = { life: 9_000_001, serial: 3, minute };
    const sequence = await publish('traces.0', encodeBlocksEnvelope(header, []), serial);
    expect(await placesOf('TRACES', sequence)).toEqual([
      {
        ...{ life: 9_000_001, serial: '3', minute: sentAt, data_id: '0', app_id: String(appId) },
        ...{ owners: 1, items: 2, redrive: 0 },
      },
    ]);
  });

  it('without an owner, or that cannot be read, has one line without an owner', async () => {
    const records = async () => (await outcomes.settled({ dataId: 0 }))[0]?.received ?? 0;
    const before = await records();
    const empty = await publish('metrics.0', message([]), { life: 9_000_001, serial: 78, minute });
    const place = { life: 9_000_001, minute: sentAt, data_id: '0', app_id: '0', owners: 1, redrive: 0 };
    expect(await placesOf('METRICS', empty)).toEqual([{ ...place, serial: '78', items: 0 }]);
    expect(await records()).toBe(before);
    const garbage = Buffer.from('no envelope');
    const unreadable = await publish('metrics.0', garbage, { life: 9_000_001, serial: 79, minute });
    expect(await placesOf('METRICS', unreadable)).toEqual([{ ...place, serial: '79', items: 1 }]);
    expect(await records()).toBe(before + 1);
    expect(await lettersOf(0)).toMatchObject([
      { ordinal: '-1', letters: ['-1'], letter_items: [1], book: 1 },
    ]);
    const again = await publish('metrics.0', garbage);
    expect(await placesOf('METRICS', again)).toMatchObject([
      { life: 0, minute: '1970-01-01 00:00:00', items: 1 },
    ]);
  });

  it('names the dead letters that it left: refused rows by their ordinals, an unreadable section as a whole', async () => {
    const report = await stack.createReport('settled-refused');
    await publish('metrics.0', message([partOf(report, 5_200, ['1'])]));
    await stack.waitForRows(report.result_table.table_id, 1);
    const section = Buffer.from('[{"metrics"');
    const group = {
      ...{ dataId: dataIdOf(report), arrivedAt, policy: { aheadMsMax: undefined, ageMsMax: undefined } },
      ...{ base: '5300', ordinals: [8, 9], bytes: section.length },
    };
    const parts = [partOf(report, 5_300, ['1', '"text"', '2', '"text"'])];
    const payload = message(parts, { deferred: [group] }, [section]);
    const sequence = await publish('metrics.0', payload, { life: 9_000_001, serial: 80, minute });
    expect(await placesOf('METRICS', sequence)).toMatchObject([{ items: 6 }]);
    const [, standing] = await lettersOf(dataIdOf(report));
    expect(standing).toMatchObject({ letters: ['1', '3', '-1'], letter_items: [1, 1, 2] });
  });

  it('from the dead letters has its lines too, with the number of its redrive', async () => {
    const report = await stack.createReport('settled-redriven');
    const table = report.result_table.table_id;
    await publish('metrics.0', message([partOf(report, 5_400, ['1'])]));
    await stack.waitForRows(table, 1);
    await publish('metrics.0', message([partOf(report, 5_500, ['1', '"text"', '2'])]));
    await outcomes.settled();
    const { body } = await stack.api('GET', `/api/v1/dead-letters?data_id=${dataIdOf(report)}`);
    const letter = lettersSchema.parse(body).items[0]?.sequence;
    expect((await stack.api('POST', `/api/v1/dead-letters/${letter}/redrive`, {})).status).toBe(200);
    await outcomes.settled();
    const lines = await stack.spansQuery(
      `SELECT life, serial, owners, items, redrive FROM otel.ingest_settled WHERE data_id = ${dataIdOf(report)} AND redrive > 0`,
    );
    expect(lines).toEqual([{ life: 0, serial: '0', owners: 1, items: 1, redrive: 1 }]);
    // Refused again: the record of the redrive names the letter that holds the item now.
    expect(await lettersOf(dataIdOf(report))).toMatchObject([
      { ordinal: '-1', letters: [] },
      { ordinal: '-1', letters: ['1'] },
      { ordinal: '1', redrive: 1, letters: ['1'], letter_items: [1] },
    ]);
  });

  it('leaves no sequence of its stream without all of its lines', async () => {
    await outcomes.settled();
    const manager = await live.bus.manager();
    for (const stream of ['METRICS', 'TRACES']) {
      const { state } = await manager.streams.info(stream);
      const [found] = await stack.spansQuery(
        `SELECT count() AS messages, min(sequence) AS first, max(sequence) AS last, min(lines = owners) AS whole FROM
          (SELECT sequence, max(owners) AS owners, uniqExact(data_id, app_id) AS lines FROM otel.ingest_settled
            WHERE stream = '${stream}' GROUP BY sequence)`,
      );
      const last = String(state.last_seq);
      expect(found).toEqual({ messages: last, first: '1', last, whole: 1 });
    }
  });
});
