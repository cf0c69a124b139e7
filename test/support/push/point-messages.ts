import type { Bus } from '../../../src/bus/connection.ts';
import { publishConfirmed } from '../../../src/bus/outbox.ts';
import { encodeEnvelope } from '../../../src/wire/metrics-envelope.ts';

/** A table of points that no record knows of, so that nobody makes it, by the number of its data id. */
export const unknownTable = (dataId: number): string => `2_mon_time_series_${dataId}.__default__`;

/** Makes such a table, as metadata would. */
export const createTableSql = (table: string): string =>
  `CREATE TABLE "${table}" (timestamp TIMESTAMP, uid LONG, target SYMBOL, more_dimensions VARCHAR) TIMESTAMP(timestamp) PARTITION BY DAY WAL DEDUP UPSERT KEYS(timestamp, uid)`;

type PointRows = {
  readonly dataId: number;
  readonly table: string;
  readonly rows: number;
  readonly base: number;
};

/** The payload of a message with rows of one table, a point each, as a receiver makes it. */
export const pointPayload = ({ dataId, table, rows, base }: PointRows, lines: Uint8Array): Uint8Array => {
  const now = Date.now();
  const part = {
    ...{ dataId, table, layout: 'wide' as const, rows, points: rows, base: String(base) },
    ...{ first: 0, last: rows - 1, timeMin: now, timeMax: now, bytes: lines.length },
  };
  const parts = { parts: [part], deferred: [], outcomes: [] };
  return encodeEnvelope({ version: 1, kind: 'metrics', arrivedAt: now, ...parts }, [lines]);
};

/** Publishes points for unknown tables, a message each, as a receiver does. */
export const createPointMessages = (bus: Bus) => {
  let nextUid = 1;
  return async (dataId: number, value: number): Promise<void> => {
    const [uid, now, table] = [nextUid++, Date.now(), unknownTable(dataId)];
    const row = Buffer.from(`${table},target=a up=${value},uid=${uid}i ${now}\n`);
    const payload = pointPayload({ dataId, table, rows: 1, base: uid }, row);
    await publishConfirmed(bus, {
      subject: 'metrics.0',
      messageId: `test-${dataId}-${uid}`,
      payload,
      version: 1,
    });
  };
};
