import { changePercent } from '../statistics.ts';

/** One line of the comparison: a way from the sender to the store (or to nowhere), measured. */
export type PeerRow = {
  readonly row: string;
  readonly ours: boolean;
  /** Rows of one contest get the same bodies at the same durability; Tidemark's row competes with all others of it. */
  readonly contest: string;
  readonly item: 'points' | 'spans' | 'log records' | 'data points';
  readonly is_stored: boolean;
  /** The meaning of its 200: where the items are by then. */
  readonly ok_means: string;
  /** Items stored and visible; in a row that stores nothing, items acknowledged. */
  readonly items_per_second: number;
  /** CPU seconds per million of every process between the sender and the database. */
  readonly cpu_per_million: number;
  /** Only in Tidemark's rows, without nats-server: ingress and transfer. */
  readonly cpu_per_million_roles: number;
  readonly cpu_per_million_database: number;
  /** Peak of all processes between the sender and the database together, MiB. */
  readonly rss_mib: number;
  /** Acknowledged and never visible, although no process was killed. */
  readonly missing: number;
  readonly failed_requests: number;
  /** Milliseconds of a fixed calculation before and after each measurement, the median and the most. */
  readonly calibration_ms: number;
  readonly calibration_ms_max: number;
  /** Measurements in which a store was still at work in the background at the beginning or at the end. */
  readonly unsettled: number;
};

/** Why Tidemark is not ahead of a row that stores: one line for each such row and figure; empty when it is ahead everywhere. */
export const behind = (rows: readonly PeerRow[]): string[] => {
  const lines: string[] = [];
  for (const peer of rows) {
    if (peer.ours || !peer.is_stored) continue;
    const own = rows.find(({ ours, contest }) => ours && contest === peer.contest);
    if (own === undefined) {
      lines.push(`${peer.row}: no figure of Tidemark was measured beside it`);
      continue;
    }
    const against = `${own.row} against ${peer.row}`;
    if (own.items_per_second <= peer.items_per_second) {
      const less = -changePercent(peer.items_per_second, own.items_per_second);
      lines.push(`${against}: ${less.toFixed(0)} % fewer ${own.item} stored a second`);
    }
    if (own.cpu_per_million >= peer.cpu_per_million) {
      const more = changePercent(peer.cpu_per_million, own.cpu_per_million);
      lines.push(`${against}: ${more.toFixed(0)} % more CPU a million`);
    }
  }
  return lines;
};

/** One request in the store: its rows, and the number of different items among them. */
export type StoredRequest = { readonly rows: number; readonly items: number };

export type KillRow = {
  readonly killed: string;
  readonly ok_means: string;
  readonly item: 'points' | 'spans';
  readonly acknowledged: number;
  readonly lost: number;
  readonly stored_twice: number;
  /** Stored without an answer: a sender that retries would store these twice if no identity recognised them. */
  readonly stored_unanswered: number;
};

/** Compares the store with the acknowledged requests; requests are numbered and carry the same number of items each. */
export const judgeKill = (
  acknowledged: ReadonlySet<number>,
  stored: ReadonlyMap<number, StoredRequest>,
  itemsPerRequest: number,
): Pick<KillRow, 'acknowledged' | 'lost' | 'stored_twice' | 'stored_unanswered'> => {
  let lost = 0;
  let twice = 0;
  let unanswered = 0;
  for (const request of acknowledged) lost += itemsPerRequest - (stored.get(request)?.items ?? 0);
  for (const [request, { rows, items }] of stored) {
    if (acknowledged.has(request)) twice += rows - items;
    else unanswered += items;
  }
  return {
    acknowledged: acknowledged.size * itemsPerRequest,
    lost,
    stored_twice: twice,
    stored_unanswered: unanswered,
  };
};
