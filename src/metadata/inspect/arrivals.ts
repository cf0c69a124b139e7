import { z } from 'zod';
import type { Bus } from '../../bus/connection.ts';
import { listen } from '../../bus/listen.ts';
import { setNewest } from '../../model/bounded-map.ts';
import { isOfOwner } from '../../outcomes/arrivals.ts';
import { type Drop, dropsIn } from '../../outcomes/drops.ts';
import { ledgerSubjects } from '../../outcomes/rows.ts';
import { droppedOutcome, storedOutcome } from '../../outcomes/tally.ts';
import type { UsageOwner } from '../../outcomes/usage.ts';

/** What came of an owner since it is watched; times are Unix seconds. */
export type Arrived = {
  /** When an item was last settled as stored. */
  readonly storedAt: number | undefined;
  /** The newest first. */
  readonly samples: readonly Drop[];
  /** When items were last dropped or requests refused, by reason: samples are few, and this is all of them. */
  readonly reasons: ReadonlyMap<string, number>;
};

/**
 * The messages of LEDGER as they are published, for owners that somebody waits for: a second after a push, and without a query. NATS
 * sends them to this process only while an owner is watched.
 */
export type Arrivals = {
  /** What came since the first call for this owner; an owner is forgotten that nobody asks for. Transient Fault when NATS does not answer. */
  watch(owner: UsageOwner): Promise<Arrived>;
  stop(): void;
};

type Watched = {
  readonly owner: UsageOwner;
  askedAt: number;
  storedAt: number | undefined;
  samples: Drop[];
  readonly reasons: Map<string, number>;
};

const watchedMax = 64;
const samplesMax = 20;
const forgetMs = 30_000;

const lineSchema = z.object({
  data_id: z.number(),
  app_id: z.number(),
  kind: z.string().optional(),
  reason: z.string().optional(),
  outcomes: z.record(z.string(), z.number()).optional(),
});

/** The lines of a message that are of this owner. Most messages have none: these are not parsed. */
const linesOf = (payload: Buffer, { dataId, appId }: UsageOwner): z.output<typeof lineSchema>[] => {
  const mark = `"data_id":${dataId},"app_id":${appId},`;
  if (!payload.includes(mark)) return [];
  return payload
    .toString('utf8')
    .split('\n')
    .flatMap((line) => {
      if (!line.includes(mark)) return [];
      const parsed = lineSchema.safeParse(JSON.parse(line));
      return parsed.success ? [parsed.data] : [];
    });
};

const noteLine = (
  { reasons, ...watched }: Watched,
  { outcomes = {}, kind, reason }: z.output<typeof lineSchema>,
  at: number,
): number | undefined => {
  const dropped = droppedOutcome('');
  for (const [outcome, items] of Object.entries(outcomes))
    if (items > 0 && outcome.startsWith(dropped)) reasons.set(outcome.slice(dropped.length), at);
  if (kind === 'refused' && reason !== undefined) reasons.set(reason, at);
  return (outcomes[storedOutcome] ?? 0) > 0 ? at : watched.storedAt;
};

/** All three, or none. */
const listenAll = async (
  bus: Bus,
  onLines: (payload: Uint8Array) => void,
  onSamples: (payload: Uint8Array) => void,
): Promise<() => void> => {
  const ends: (() => void)[] = [];
  const end = (): void => {
    for (const each of ends) each();
  };
  try {
    ends.push(await listen(bus, ledgerSubjects.settled, onLines));
    ends.push(await listen(bus, ledgerSubjects.refusals, onLines));
    ends.push(await listen(bus, ledgerSubjects.samples, onSamples));
    return end;
  } catch (error) {
    end();
    throw error;
  }
};

/** The owners that somebody waits for; the one that was asked for longest ago goes first. */
const createWatchList = (now: () => number) => {
  const watched = new Map<string, Watched>();
  return {
    all: () => watched.values(),
    get isEmpty() {
      return watched.size === 0;
    },
    ask: (owner: UsageOwner): Watched => {
      const key = `${owner.dataId} ${owner.appId}`;
      const known = watched.get(key);
      const each: Watched = known ?? {
        owner,
        askedAt: 0,
        storedAt: undefined,
        samples: [],
        reasons: new Map(),
      };
      each.askedAt = now();
      setNewest(watched, key, each, watchedMax);
      return each;
    },
    forget: (olderMs: number): void => {
      for (const [key, { askedAt }] of watched) if (now() - askedAt >= olderMs) watched.delete(key);
    },
  };
};

export const createArrivals = (bus: Bus, now: () => number): Arrivals => {
  const list = createWatchList(now);
  let listening: Promise<() => void> | undefined;

  const onLines = (bytes: Uint8Array): void => {
    const payload = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (const each of list.all())
      for (const line of linesOf(payload, each.owner)) each.storedAt = noteLine(each, line, now() / 1000);
  };

  const onSamples = (payload: Uint8Array): void => {
    for (const drop of dropsIn(payload, {}))
      for (const each of list.all())
        if (isOfOwner(drop, each.owner)) each.samples = [drop, ...each.samples].slice(0, samplesMax);
  };

  const forget = (olderMs: number): void => {
    list.forget(olderMs);
    if (!list.isEmpty) return;
    listening?.then((end) => end()).catch(() => undefined);
    listening = undefined;
  };
  const timer = setInterval(() => forget(forgetMs), forgetMs).unref();

  return {
    watch: async (owner) => {
      const each = list.ask(owner);
      listening ??= listenAll(bus, onLines, onSamples).catch((error: unknown) => {
        listening = undefined;
        throw error;
      });
      await listening;
      return each;
    },
    stop: () => {
      clearInterval(timer);
      forget(0);
    },
  };
};
