import { setTimeout as delay } from 'node:timers/promises';
import type { Bus } from '../bus/connection.ts';
import { lookAtQueue, readAckFloor } from '../bus/orphaned-messages.ts';
import type { StreamReader } from '../bus/stream-reader.ts';
import { readStream } from '../bus/stream-state.ts';
import { deadLetterStream } from '../dead-letters/dead-letter.ts';
import { Fault } from '../model/fault.ts';
import type { AccountedStream } from './queue-state.ts';
import { createRefusedLines } from './refused-lines.ts';

export type RecordedDependencies = {
  readonly bus: Bus;
  readonly reader: StreamReader;
  /** Stream and consumer that carry the lines of both books. */
  readonly ledger: AccountedStream;
  readonly stop: AbortSignal;
};

const barrierMsMax = 60_000;
/** Lines are written every few seconds: a closer watch only costs NATS. */
const ledgerPollMs = 2_000;

/**
 * Waits until every line that LEDGER holds at the call is in ClickHouse. Returns how long, in ms. Throws `ledger_lines_refused` while
 * ClickHouse refuses some, `ledger_behind` after a minute, and the Faults of NATS.
 */
export const createUntilRecorded = ({
  bus,
  reader,
  ledger,
  stop,
}: RecordedDependencies): (() => Promise<number>) => {
  const hasRefusedLines = createRefusedLines({
    reader,
    readEnd: async () => {
      const { created, state } = (await readStream(bus, deadLetterStream)).stream;
      return { created, last: state.last_seq };
    },
  });
  return async () => {
    if (await hasRefusedLines())
      throw new Fault(
        'transient',
        'ledger_lines_refused',
        'ClickHouse refused lines of the books: see tidemark dlq list --reason ledger_line_refused, and redrive them',
      );
    const { lastSequence, ackFloor } = await lookAtQueue(bus, ledger.name, ledger.consumer);
    const startedAt = performance.now();
    for (
      let floor = ackFloor;
      floor < lastSequence;
      floor = await readAckFloor(bus, ledger.name, ledger.consumer)
    ) {
      if (performance.now() > startedAt + barrierMsMax)
        throw new Fault('transient', 'ledger_behind', `${ledger.name} is not written to ClickHouse in time`);
      await delay(ledgerPollMs, undefined, { signal: stop });
    }
    return performance.now() - startedAt;
  };
};
