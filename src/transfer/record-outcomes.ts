import { setTimeout as delay } from 'node:timers/promises';
import { errorText } from '../model/fault.ts';
import type { Ledger } from '../outcomes/ledger.ts';
import { outcomeRows, redriveRows, unreadableRow } from '../outcomes/outcome-rows.ts';
import type { OutcomeRow } from '../outcomes/rows.ts';
import { backOffMs } from '../runtime/back-off.ts';
import type { Log } from '../telemetry/log.ts';
import type { MessageKey } from '../wire/message-key.ts';
import type { Sink, Validated } from './sink.ts';

type Pipeline = Sink<unknown>['pipeline'];

const backOff = { firstMs: 100, mostMs: 2_000 };

/** The rows of a message for LEDGER; none for a message whose items have no owner, and none for messages of LEDGER itself. */
export const outcomeRowsOf = (
  pipeline: Pipeline,
  validated: Validated,
  key: MessageKey | undefined,
  nowMs: number,
): OutcomeRow[] => {
  if (pipeline === 'ledger' || key === undefined) return [];
  const { redrive, tally, arrivedAt } = validated;
  return redrive === undefined
    ? outcomeRows(pipeline, key, tally, arrivedAt, nowMs)
    : redriveRows(pipeline, redrive, tally, nowMs);
};

/** The row of a message that cannot be read. */
export const unreadableRowOf = (
  pipeline: Pipeline,
  payload: Uint8Array,
  redrive: number,
  nowMs: number,
): OutcomeRow | undefined =>
  pipeline === 'ledger' ? undefined : unreadableRow(pipeline, payload, nowMs, redrive);

export type OutcomeRecorder = {
  /** Records rows until LEDGER confirms them. False: the worker stopped before. */
  record(rows: readonly OutcomeRow[]): Promise<boolean>;
  /** Why outcomes are not recorded now, or undefined. */
  readonly problem: string | undefined;
};

export const createOutcomeRecorder = (
  pipeline: Pipeline,
  ledger: Ledger,
  log: Log,
  isStopping: () => boolean,
): OutcomeRecorder => {
  let problem: string | undefined;
  const recordOnce = async (rows: readonly OutcomeRow[]): Promise<boolean> => {
    try {
      await ledger.record(rows);
      if (problem !== undefined) log.info({ pipeline }, 'outcomes are recorded again');
      problem = undefined;
      return true;
    } catch (error) {
      const why = errorText(error);
      if (problem === undefined)
        log.warn({ pipeline, error: why }, 'outcomes are not recorded; messages wait unacknowledged');
      problem = why;
      return false;
    }
  };
  return {
    record: async (rows) => {
      if (rows.length === 0) return true;
      for (let failures = 1; !(await recordOnce(rows)); failures++) {
        if (isStopping()) return false;
        await delay(backOffMs(backOff, failures));
      }
      return true;
    },
    get problem() {
      return problem;
    },
  };
};
