import type { Bus } from '../../../src/bus/connection.ts';
import { publishConfirmed } from '../../../src/bus/outbox.ts';
import { encodeEnvelope } from '../../../src/wire/metrics-envelope.ts';

/** A table of points that no record knows of, so that nobody makes it, by the number of its data id. */
export const unknownTable = (dataId: number): string => `2_mon_time_series_${dataId}.__default__`;

/** Makes such a table, as metadata would. */
export const createTableSql = (table: string): string =>
  `CREATE TABLE "${table}" (timestamp TIMESTAMP, uid LONG, target SYMBOL, more_dimensions VARCHAR) TIMESTAMP(timestamp) PARTITION BY DAY WAL DEDUP UPSERT KEYS(timestamp, uid)`;

/** Publishes points for unknown tables, a message each, as a receiver does. */
export const createPointMessages = (bus: Bus) => {
  let nextUid = 1;
  return async (dataId: number, value: number): Promise<void> => {
    const [uid, now, table] = [nextUid++, Date.now(), unknownTable(dataId)];
    const row = Buffer.from(`${table},target=a up=${value},uid=${uid}i ${now}\n`);
    const part = {
      dataId,
      table,
      layout: 'wide' as const,
      rows: 1,
      points: 1,
      base: String(uid),
      first: 0,
      last: 0,
      timeMin: now,
      timeMax: now,
      bytes: row.length,
    };
    const header = {
      version: 1,
      kind: 'metrics' as const,
      arrivedAt: now,
      parts: [part],
      deferred: [],
      outcomes: [],
    };
    const payload = encodeEnvelope(header, [row]);
    await publishConfirmed(bus, {
      subject: 'metrics.0',
      messageId: `test-${dataId}-${uid}`,
      payload,
      version: 1,
    });
  };
};
