import { ownerColumns, type Pipeline } from '../model/signals.ts';
import type { RefusalRow } from './rows.ts';
import { minuteText } from './times.ts';

/** Refused requests, duplicates and dropped values of a receiver, outside the balance of acknowledged items. */
export type Refusals = {
  /**
   * Counts `requests` and `items` for a data id (metrics) or an application (traces); `owner` 0 for a request without a
   * valid credential, which could name owners that do not exist.
   */
  add(
    pipeline: Pipeline,
    kind: RefusalRow['kind'],
    owner: number,
    reason: string,
    requests: number,
    items: number,
  ): void;
  /** The counts since the last call, under this epoch and count. */
  take(boot: number, seq: number): RefusalRow[];
};

type Counted = Omit<RefusalRow, 'boot' | 'seq' | 'requests' | 'items'> & { requests: number; items: number };

export type RefusalOptions = {
  readonly now: () => number;
  /** Different rows between two calls of `take`; beyond the limit owner 0 counts. */
  readonly rowsMax?: number;
};

const minuteMs = 60_000;
const rowsMaxDefault = 10_000;

/** Memory is bounded: besides the bound, only owner 0 with the codes of the closed table of reasons is kept. */
export const createRefusals = ({ now, rowsMax = rowsMaxDefault }: RefusalOptions): Refusals => {
  let rows = new Map<string, Counted>();
  let minuteAt = -1;
  let minute = '';

  const minuteOf = (): string => {
    const at = Math.floor(now() / minuteMs);
    if (at !== minuteAt) {
      minuteAt = at;
      minute = minuteText(at * minuteMs);
    }
    return minute;
  };

  const rowOf = (pipeline: Pipeline, kind: RefusalRow['kind'], owner: number, reason: string): Counted => {
    const time = minuteOf();
    const key = `${pipeline} ${kind} ${owner} ${reason} ${time}`;
    const known = rows.get(key);
    if (known !== undefined) return known;
    if (rows.size >= rowsMax && owner !== 0) return rowOf(pipeline, kind, 0, reason);
    const row: Counted = {
      pipeline,
      ...ownerColumns(pipeline, owner),
      minute: time,
      kind,
      reason,
      requests: 0,
      items: 0,
    };
    rows.set(key, row);
    return row;
  };

  return {
    add: (pipeline, kind, owner, reason, requests, items) => {
      const row = rowOf(pipeline, kind, owner, reason);
      row.requests += requests;
      row.items += items;
    },
    take: (boot, seq) => {
      if (rows.size === 0) return [];
      const taken = [...rows.values()].map((row): RefusalRow => ({ ...row, boot, seq }));
      rows = new Map();
      return taken;
    },
  };
};
