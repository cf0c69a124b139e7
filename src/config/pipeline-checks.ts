import type { BreakerDefinition, StreamDefinition } from './pipeline-definitions.ts';
import type { TransferFile } from './pipeline-files.ts';
import { parseBytes, settingFault } from './settings.ts';
import type { YamlFile } from './yaml-file.ts';

/** Largest message a receiver publishes; a pull that asks for less than one message stalls for ever. */
const pullBytes = { least: 16 * 2 ** 20, most: 32 * 2 ** 20 };

/** Refuses a value of the file: a permanent Fault with place, reason and remedy. */
export const refuse = (file: YamlFile, path: readonly string[], reason: string, remedy: string): never => {
  throw settingFault(`${file.placeOf(path)} /${path.join('/')}`, reason, remedy);
};

/** Throws when the stages are not the program's own in their order, or those of a program before it. */
export const requireStages = (
  file: YamlFile,
  part: 'receiver' | 'transfer',
  given: readonly string[],
  own: readonly string[],
  earlier: readonly string[] = own,
): void => {
  if (given.join() === own.join() || given.join() === earlier.join()) return;
  refuse(
    file,
    [part, 'stages'],
    `the stages of this ${part} are wrong, or not in their order`,
    `Write [${own.join(', ')}]`,
  );
};

const toBreaker = ({
  dead_letters_in_a_row_max: inARowMax = 1_000,
  dead_letters_share_max: shareMax = 0.2,
  share_items_min: shareItemsMin = 10_000,
  pause_seconds: pauseSeconds = 60,
}: TransferFile['breaker'] = {}): BreakerDefinition => ({
  inARowMax,
  shareMax,
  shareItemsMin,
  pauseMs: pauseSeconds * 1000,
});

/** What every consumer demands of its stream and its store; answers what follows from it. */
export const checkTransfer = (
  file: YamlFile,
  transfer: TransferFile,
  own: readonly string[],
  stream: StreamDefinition,
) => {
  requireStages(file, 'transfer', transfer.stages, own);
  const { consumer } = stream;
  if (consumer === undefined || consumer.name !== transfer.consumer) {
    return refuse(
      file,
      ['transfer', 'consumer'],
      `stream ${stream.name} has no consumer of this name`,
      `Use ${consumer?.name ?? 'a stream with a consumer'}`,
    );
  }
  if (consumer.ackWaitMs <= transfer.store_timeout_ms) {
    refuse(
      file,
      ['transfer', 'store_timeout_ms'],
      `the write timeout exceeds the ack wait of ${consumer.ackWaitMs} ms, and two workers would write the same messages`,
      'Lower it, or raise ack_wait_seconds',
    );
  }
  const pullBytesMax = parseBytes(transfer.pull_bytes_max) ?? 0;
  if (pullBytesMax < pullBytes.least || pullBytesMax > pullBytes.most) {
    refuse(
      file,
      ['transfer', 'pull_bytes_max'],
      'a pull below 16MiB can stall on the largest message, and NATS closes the connection on one far above 32MiB',
      'Set a size from 16MiB to 32MiB',
    );
  }
  return {
    consumer,
    pullBytesMax,
    rowsPerWriteMax: transfer.rows_per_write_max,
    writeIntervalMs: transfer.write_interval_ms,
    storeTimeoutMs: transfer.store_timeout_ms,
    breaker: toBreaker(transfer.breaker),
  };
};
