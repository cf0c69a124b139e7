import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { StreamConfig, StreamInfo } from '@nats-io/jetstream';
import { errorText } from '../model/fault.ts';
import type { Log } from '../telemetry/log.ts';
import type { Bus } from './connection.ts';
import { fillingKey, fillingSince, type KvBucket, unreadable, untilWritten } from './kv.ts';
import { toFault, unlessMissing } from './nats-fault.ts';

/** A bucket of which this process holds a copy, to make it again where it is lost. */
export type KeptBucket = {
  /** What is wrong with the bucket, for `/readyz`; undefined while it is there. */
  readonly problem: string | undefined;
  /** Whether it could be made again now. */
  readonly hasCopy: boolean;
  stop(): void;
};

export type KeepOptions = {
  readonly bus: Bus;
  readonly name: string;
  readonly bucket: KvBucket;
  readonly log: Pick<Log, 'error' | 'info' | 'warn'>;
  readonly everyMs?: number;
  /** Called for a bucket that was filled again, before anybody follows it. */
  readonly beforeUse?: (bucket: KvBucket) => Promise<unknown>;
  readonly onMade?: (stream: string) => void;
  /**
   * The value of a key that has another one in the bucket than in the copy: somebody wrote it while the bucket was away. Without it,
   * and where it returns undefined, that of the bucket stays.
   */
  readonly merge?: (key: string, kept: unknown, found: unknown) => unknown;
  /** Of keys that are erased without a marker: a copy would hold them for ever, and bring them back. They are lost with the bucket. */
  readonly isLeftOut?: (key: string) => boolean;
};

const everyMsDefault = 2_000;
/** Beyond the last revision that was seen: writes that nobody has seen. */
const unseenMax = 1_000_000;
/** Writes that are on their way at a time. */
const writesAtOnce = 256;
/** A process that fills a bucket needs less, or has ended. */
const fillingMsMax = 60_000;
/** In the place of the time: the bucket is whole. */
const filled = 'filled';

const streamOf = (bucket: string): string => `KV_${bucket}`;

type Kept = { readonly text: string; readonly revision: number };

/** A value that is not JSON is brought back as an empty one: its owner still has a record, which cannot be read. */
const textOf = (value: unknown): string => (value === unreadable ? '' : JSON.stringify(value));

const readText = (text: string): unknown => (text === '' ? unreadable : JSON.parse(text));

/** The bucket as it was seen last. */
type Seen = { readonly config: StreamConfig; readonly created: string; readonly lastSequence: number };

const seenIn = ({ config, created, state }: StreamInfo): Seen => ({
  config,
  created,
  lastSequence: state.last_seq,
});

/** Keys that the server adds itself are not for a request. */
const ownMetadata = ({ metadata }: StreamConfig): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata ?? {}).filter(([key]) => !key.startsWith('_nats.')));

/** Of two values where one cannot be read, that of the bucket stays. */
const mergedOf = (merge: KeepOptions['merge'], key: string, kept: unknown, found: unknown): unknown =>
  kept === unreadable || found === unreadable ? undefined : merge?.(key, kept, found);

/** Tries of a key that others write at the same time. */
const triesMax = 100;

/** Another process fills it too, or has written the key since. */
const mergeKey = ({ bucket, merge }: KeepOptions, key: string, kept: unknown): Promise<void> =>
  untilWritten(key, triesMax, async () => {
    const found = await bucket.get(key);
    if (found === undefined) return;
    const merged = mergedOf(merge, key, kept, found.value);
    if (merged === undefined || isDeepStrictEqual(merged, found.value)) return;
    await bucket.update(key, merged, found.revision);
  });

/** Without the client's way over a marker: a key that was deleted since stays deleted. */
const addKey = ({ bus, name }: KeepOptions, key: string, text: string): Promise<unknown> =>
  bus.js.publish(`$KV.${name}.${key}`, text, { expect: { lastSubjectSequence: 0 } });

/**
 * Goes on where another process says that it has filled it meanwhile: that one may have had less. A key that was deleted since has a
 * marker, and is not brought back.
 */
const fill = async (options: KeepOptions, copy: ReadonlyMap<string, Kept>): Promise<void> => {
  const entries = [...copy];
  for (let from = 0; from < entries.length; from += writesAtOnce) {
    await Promise.all(
      entries.slice(from, from + writesAtOnce).map(async ([key, { text }]) => {
        try {
          await addKey(options, key, text);
        } catch (error) {
          if (toFault(error).code !== 'kv_conflict') throw error;
          await mergeKey(options, key, readText(text));
        }
      }),
    );
  }
};

/** The copy, kept current by a watch. */
const followBucket = (
  { bucket, isLeftOut, merge }: Pick<KeepOptions, 'bucket' | 'isLeftOut' | 'merge'>,
  isSame: () => Promise<boolean>,
  isAnother: (created: string | undefined) => boolean,
) => {
  const copy = new Map<string, Kept>();
  const state = { isComplete: false };
  const forget = async (keys: ReadonlySet<string>): Promise<void> => {
    const unseen = [...copy].filter(([key]) => !keys.has(key));
    // An empty bucket in the place of a lost one says nothing of what there was.
    if (unseen.length > 0 && !(await isSame())) return;
    for (const [key, kept] of unseen) if (copy.get(key) === kept) copy.delete(key);
    state.isComplete = true;
  };
  const watch = bucket.watch(
    ({ key, value, revision }, created) => {
      if (isLeftOut?.(key) === true) return;
      if (value === undefined) copy.delete(key);
      else {
        // The watch may have begun again in a bucket that a starting process made, before it is filled.
        const kept = isAnother(created) ? copy.get(key) : undefined;
        const merged = kept === undefined ? undefined : mergedOf(merge, key, readText(kept.text), value);
        copy.set(key, { text: textOf(merged ?? value), revision });
      }
    },
    (keys) => void forget(keys).catch(() => {}),
  );
  return { copy, state, stop: () => watch.stop() };
};

type Lost = { readonly found: StreamInfo | undefined; readonly seen: Seen };

/** Makes the bucket where it is missing, and fills it while nobody follows it. */
const refill = async (
  options: KeepOptions,
  { found, seen: { config, lastSequence } }: Lost,
  copy: ReadonlyMap<string, Kept>,
): Promise<void> => {
  const { bus, name, bucket, beforeUse } = options;
  const stream = streamOf(name);
  const { streams } = await bus.manager();
  const metadata = { ...ownMetadata(config), [fillingKey]: String(Date.now()) };
  if (found === undefined)
    await streams.add({ ...config, metadata, first_seq: lastSequence + 1 + unseenMax });
  else if (fillingSince(found) === undefined) await streams.update(stream, { metadata });
  await fill(options, copy);
  await beforeUse?.(bucket);
  await streams.update(stream, { metadata: { ...metadata, [fillingKey]: filled } });
};

/** Without a copy: a bucket that its process left half filled is used as it is. */
const release = async ({ bus, name, log }: KeepOptions, found: StreamInfo): Promise<void> => {
  const metadata = { ...ownMetadata(found.config), [fillingKey]: filled };
  await (await bus.manager()).streams.update(streamOf(name), { metadata });
  log.error(
    { bucket: name },
    'a bucket is incomplete, and only the last backup has the missing keys: restore it',
  );
};

const lossOf = (found: StreamInfo | undefined, seen: Seen | undefined): string | undefined => {
  if (found === undefined) return 'it does not exist';
  if (fillingSince(found) !== undefined) return 'it is being filled again';
  const isFilled = found.config.metadata?.[fillingKey] === filled;
  return seen === undefined || found.created === seen.created || isFilled
    ? undefined
    : 'somebody created it again, empty';
};

/**
 * Looks at a bucket every other second, and makes one that was deleted again with all that it held: each value from this process's copy,
 * under revisions above every number known. Others follow it only once it is whole (`fillingSince`), so that nobody takes a part for
 * the whole. A loss is logged once when it begins and once when it is over. Several processes may keep one bucket.
 */
export const keepBucket = (options: KeepOptions): KeptBucket => {
  const { bus, name, log, everyMs = everyMsDefault } = options;
  const stream = streamOf(name);
  const ending = new AbortController();
  let seen: Seen | undefined;
  let problem: string | undefined;

  const info = async () => unlessMissing((await bus.manager()).streams.info(stream));
  const isSame = async (): Promise<boolean> => seen === undefined || (await info())?.created === seen.created;
  const isAnother = (created: string | undefined): boolean => seen !== undefined && created !== seen.created;
  const { copy, state, stop: unfollow } = followBucket(options, isSame, isAnother);

  const note = (why: string | undefined): void => {
    if (why !== undefined && problem === undefined)
      log.error({ stream, why }, 'a bucket is missing or empty');
    if (why === undefined && problem !== undefined) log.info({ stream }, 'a bucket is there again');
    problem = why;
  };

  /** The mark of the process that fills the bucket, and since when it is seen here, ms of elapsed time. */
  let filling: { readonly mark: number; readonly seenAt: number } | undefined;
  /** Whether the process that fills the bucket needs longer than any does. */
  const isLeft = (found: StreamInfo): boolean => {
    const mark = fillingSince(found);
    if (mark === undefined) return false;
    if (filling?.mark !== mark) filling = { mark, seenAt: performance.now() };
    return performance.now() - filling.seenAt >= fillingMsMax;
  };

  const look = async (): Promise<void> => {
    const found = await info();
    const lost = lossOf(found, seen);
    note(lost);
    if (lost === undefined) {
      if (found !== undefined) seen = seenIn(found);
    } else if (seen !== undefined && state.isComplete && found?.created !== seen.created) {
      // Of the bucket that another process fills, this one holds no more than is in it.
      await refill(options, { found, seen }, copy).catch((error: unknown) => {
        problem = `${lost}; ${errorText(error)}`;
        throw error;
      });
      log.warn({ stream, keys: copy.size }, 'a bucket was created again from the copy of this process');
      options.onMade?.(stream);
    } else if (found !== undefined && isLeft(found)) await release(options, found);
  };

  const follow = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      // NATS does not answer: other checks report that.
      if (bus.connected) await look().catch(() => {});
      await delay(everyMs, undefined, { signal: ending.signal, ref: false }).catch(() => {});
    }
  };
  void follow();

  return {
    get problem() {
      return problem === undefined ? undefined : `${stream}: ${problem}`;
    },
    get hasCopy() {
      return seen !== undefined && state.isComplete;
    },
    stop: () => {
      ending.abort();
      unfollow();
    },
  };
};
