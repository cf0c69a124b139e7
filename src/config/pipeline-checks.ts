import { basename } from 'node:path';
import type { z } from 'zod';
import type { BreakerDefinition, ConsumerDefinition, StreamDefinition } from './pipeline-definitions.ts';
import type { TransferPart } from './pipeline-files.ts';
import { settingFault } from './settings.ts';
import type { YamlFile } from './yaml-file.ts';

/** Refuses a value of the file: a permanent Fault with place, reason and remedy. */
export const refuse = (
  file: YamlFile,
  path: readonly string[],
  reason: string,
  remedy: string,
  placePath = path,
): never => {
  throw settingFault(`${file.placeOf(placePath)} /${path.join('/')}`, reason, remedy);
};

type Issue = z.core.$ZodIssue;

/** A typo makes one key unknown and another one missing: the unknown key names the place. */
const firstOf = (issues: readonly Issue[]): Issue | undefined =>
  issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];

const remedyFor = (issue: Issue): string => {
  if (issue.code !== 'invalid_value') return 'Correct the value';
  const { values } = issue;
  return values.length === 1 ? `Write ${JSON.stringify(values[0])}` : `Use one of ${JSON.stringify(values)}`;
};

/**
 * The file's content as the schema reads it. Throws a permanent Fault `config_invalid` that names place, reason with the value, and
 * remedy.
 */
export const checkFile = <S extends z.ZodType>(schema: S, file: YamlFile): z.output<S> => {
  const result = schema.safeParse(file.value, { reportInput: true });
  if (result.success) return result.data;
  const issue = firstOf(result.error.issues);
  const path = (issue?.path ?? []).map(String);
  if (issue?.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    const remedy = `Remove or correct the key ${key}`;
    return refuse(file, path, `the key ${key} is unknown`, remedy, [...path, key]);
  }
  if (issue?.input === undefined && path.length > 0) {
    const key = path.at(-1);
    return refuse(file, path.slice(0, -1), `the key ${key} is missing`, `Add the key ${key}`);
  }
  const value = JSON.stringify(issue?.input ?? null);
  const reason = issue?.code === 'invalid_type' && path.length === 0 ? 'must have keys' : issue?.message;
  return refuse(
    file,
    path,
    `${reason ?? 'is not valid'}, not ${value}`,
    issue === undefined ? 'Correct it' : remedyFor(issue),
  );
};

const toBreaker = (breaker: TransferPart['breaker']): BreakerDefinition => ({
  inARowMax: breaker.dead_letters_in_a_row_max,
  shareMax: breaker.dead_letters_share_max,
  shareItemsMin: breaker.share_items_min,
  pauseMs: breaker.pause_seconds * 1000,
});

/** What every consumer demands of its stream and its store; returns the values that follow from it. */
export const checkTransfer = (file: YamlFile, transfer: TransferPart, stream: StreamDefinition) => {
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
  return {
    consumer,
    pullBytesMax: transfer.pull_bytes_max,
    rowsPerWriteMax: transfer.rows_per_write_max,
    writeIntervalMs: transfer.write_interval_ms,
    /** Files of earlier versions name none: the interval stays. */
    writeIntervalMsMax: transfer.write_interval_ms_max ?? transfer.write_interval_ms,
    storeTimeoutMs: transfer.store_timeout_ms,
    breaker: toBreaker(transfer.breaker),
  };
};

/** Whether a message can have both subjects. */
const overlaps = (one: string, other: string): boolean => {
  const [a, b] = [one.split('.'), other.split('.')];
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const [left, right] = [a[index], b[index]];
    if (left === undefined || right === undefined) return false;
    if (left === '>' || right === '>') return true;
    if (left !== right && left !== '*' && right !== '*') return false;
  }
  return true;
};

/** NATS makes no stream that takes a subject of another one: the roles would wait for it. */
export const refuseOverlaps = (file: YamlFile, streams: readonly StreamDefinition[]): void => {
  for (const [index, { name, subjects }] of streams.entries())
    for (const other of streams.slice(0, index))
      for (const subject of subjects) {
        const taken = other.subjects.find((each) => overlaps(each, subject));
        if (taken === undefined) continue;
        refuse(
          file,
          ['streams', name, 'subjects'],
          `${subject} overlaps ${taken} of stream ${other.name}`,
          'Take one of them away',
        );
      }
};

/** The consumer of a stream gives each message to one pipeline: the other one would lose it to the dead letters. */
export const refuseShared = (
  lines: readonly {
    readonly file: YamlFile;
    readonly path: readonly string[];
    readonly consumer: ConsumerDefinition;
  }[],
): void => {
  for (const [index, { file, path, consumer }] of lines.entries()) {
    const other = lines.slice(0, index).find((each) => each.consumer.stream === consumer.stream);
    if (other === undefined) continue;
    refuse(
      file,
      path,
      `stream ${consumer.stream} and its consumer ${consumer.name} are those of ${basename(other.file.file)}`,
      'Name a stream of its own',
    );
  }
};
