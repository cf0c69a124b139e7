import { setTimeout as delay } from 'node:timers/promises';
import type { Delivery } from '../bus/puller.ts';
import { errorText } from '../model/fault.ts';
import type { Ledger } from '../outcomes/ledger.ts';
import { outcomeRows, redriveRows, unreadableRow } from '../outcomes/outcome-rows.ts';
import type { OutcomeRow, SettledLine } from '../outcomes/rows.ts';
import { type Letters, type MessagePlace, settledLines } from '../outcomes/settled-lines.ts';
import { deadLetteredOutcome } from '../outcomes/tally.ts';
import { backOffMs } from '../runtime/back-off.ts';
import type { Log } from '../telemetry/log.ts';
import type { MessageKey } from '../wire/message-key.ts';
import type { Sink, Validated } from './sink.ts';

type Pipeline = Sink<unknown>['pipeline'];

const backOff = { firstMs: 100, mostMs: 2_000 };

/** The place of a delivered message; `arrivedAt` in ms, 0 where it cannot be read. */
const placeOf = (
  { streamSequence, serial, redrive }: Delivery,
  stream: string,
  arrivedAt: number,
): MessagePlace => ({ stream, sequence: streamSequence, serial, arrivedAt, redrive });

/** A message of `stream` that is about to be acknowledged. */
export type SettledMessage = {
  readonly delivery: Delivery;
  readonly stream: string;
  readonly validated: Validated;
  /** Undefined where it has no record. */
  readonly key: MessageKey | undefined;
  readonly letters: Letters;
};

/** The lines of a message in the settlers' book; none for messages of LEDGER itself. */
export const settledLinesOf = (
  pipeline: Pipeline,
  { delivery, stream, validated, key, letters }: SettledMessage,
  nowMs: number,
): SettledLine[] => {
  if (pipeline === 'ledger') return [];
  const { redrive, tally, arrivedAt, days } = validated;
  let records: OutcomeRow[] = [];
  if (redrive !== undefined) records = redriveRows(pipeline, redrive, tally, nowMs);
  else if (key !== undefined) records = outcomeRows(pipeline, key, tally, arrivedAt, nowMs);
  return settledLines(
    pipeline,
    records,
    placeOf(delivery, stream, arrivedAt),
    { tally, letters, days },
    nowMs,
  );
};

/** The line of a message that cannot be read: one item without an owner, and the dead letter that holds all of it. */
export const unreadableLineOf = (
  pipeline: Pipeline,
  delivery: Delivery,
  stream: string,
  nowMs: number,
): SettledLine | undefined => {
  if (pipeline === 'ledger') return undefined;
  const row = unreadableRow(pipeline, delivery.payload, nowMs, delivery.redrive);
  const tally = new Map([[0, new Map([[deadLetteredOutcome, 1]])]]);
  const letters = new Map([[0, new Map([[-1, 1]])]]);
  return settledLines(pipeline, [row], placeOf(delivery, stream, 0), { tally, letters }, nowMs)[0];
};

export type OutcomeRecorder = {
  /** Records lines until LEDGER confirms them. False: the worker stopped before. */
  record(lines: readonly SettledLine[]): Promise<boolean>;
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
  const recordOnce = async (lines: readonly SettledLine[]): Promise<boolean> => {
    try {
      await ledger.record(lines);
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
    record: async (lines) => {
      if (lines.length === 0) return true;
      for (let failures = 1; !(await recordOnce(lines)); failures++) {
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
