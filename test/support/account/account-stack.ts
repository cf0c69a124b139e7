import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { z } from 'zod';
import { type Bus, connectBus } from '../../../src/bus/connection.ts';
import { fetchEngine } from '../stack/fetch-engine.ts';
import { type Application, type Report, type Stack, type StackOptions, startStack } from '../stack/stack.ts';
import { waitFor } from '../wait.ts';

const differenceSchema = z.object({
  kind: z.string(),
  items: z.number(),
  messages: z.number(),
  stream: z.string(),
  owners: z.array(z.number()),
  is_open: z.boolean(),
});

const accountSchema = z.object({
  data_id: z.number(),
  app_id: z.number(),
  received: z.number(),
  stored: z.number(),
  dropped: z.record(z.string(), z.number()),
  dead_lettered: z.number(),
  repeated: z.number(),
  lost: z.number(),
  stuck: z.number(),
  unrecorded: z.number(),
  in_flight: z.number(),
  adds_up: z.boolean().nullable(),
  differences: z.array(differenceSchema),
});

export type ShownDifference = z.output<typeof differenceSchema>;
export type ShownAccount = z.output<typeof accountSchema>;

/** A difference as a test expects it; the owner is the account's own. */
export type ExpectedDifference = Pick<ShownDifference, 'kind' | 'stream' | 'items' | 'messages'>;

/** An account shows within two minutes what was provoked; on a busy machine a test gives it five times as long, ms. */
export const seenMsMax = 5 * 120_000;

/** Kinds that make an account false. */
const wrongKinds = new Set([
  'lost_in_the_stream',
  'lost_by_the_engine',
  'stuck',
  'missing_in_the_store',
  'unrecorded',
]);

/** A stack whose account is provoked. */
export type AccountStack = {
  readonly stack: Stack;
  readonly bus: Bus;
  /** Pushes a request of this many points, each with another time, and expects 200; answers once it is confirmed. */
  push(report: Report, points: number, key?: string): Promise<void>;
  /** This many requests one after the other: each is a message of its own. */
  pushEach(report: Report, requests: number, points: number): Promise<void>;
  /** Runs a statement in ClickHouse. */
  change(sql: string): Promise<void>;
  accounts(): Promise<ShownAccount[]>;
  account(owner: Report | Application): Promise<ShownAccount | undefined>;
  /**
   * Waits until the account of a report has exactly these wrong differences and does not add up, and the metrics name them; prints how
   * long it took since `startedAt` (ms of `performance.now()`).
   */
  seen(
    what: string,
    owner: Report | Application,
    expected: readonly ExpectedDifference[],
    startedAt: number,
  ): Promise<ShownAccount>;
  /** Waits until a report has this many items received: both books have them, or that of the publishers alone. */
  received(report: Report, items: number): Promise<void>;
  /** Waits until a report has this many items received and stored, with nothing on its way, and adds up. */
  whole(report: Report, items: number): Promise<ShownAccount>;
  /** Open losses, excesses and stuck differences of all owners, but for those that `seen` waited for. */
  unexpected(): Promise<ShownDifference[]>;
  /** Waits until the streams of items and LEDGER are empty. */
  settled(): Promise<void>;
  stop(): Promise<void>;
};

/** Not the kind: beside whole messages that are lost in the same minute, a missing line counts as one of them. */
const keyOf = ({ stream, owners }: ShownDifference): string => `${stream} ${owners.join()}`;

const dataIdOf = (report: Report): number => report.data_source.mon_data_id;

const idOf = (owner: Report | Application): number => ('app_id' in owner ? owner.app_id : dataIdOf(owner));

export const wrongIn = ({ differences }: ShownAccount): ShownDifference[] =>
  differences.filter(({ kind, is_open: isOpen }) => wrongKinds.has(kind) && isOpen);

const shapeOf = ({ kind, stream, items, messages }: ShownDifference): ExpectedDifference => ({
  kind,
  stream,
  items,
  messages,
});

const order = (list: readonly ExpectedDifference[]): string[] =>
  list.map(({ kind, stream, items, messages }) => `${kind} ${stream} ${items} ${messages}`).toSorted();

/** Items by kind of an owner in the text of metadata's metrics. */
const openItems = (text: string, owner: number): Map<string, number> => {
  const found = new Map<string, number>();
  for (const line of text.split('\n')) {
    const kind = /^tidemark_account_open_difference_items\{[^}]*kind="(\w+)"/.exec(line)?.[1];
    if (kind === undefined || !line.includes(`owner="${owner}"`)) continue;
    found.set(kind, (found.get(kind) ?? 0) + Number(line.slice(line.lastIndexOf(' ') + 1)));
  }
  return found;
};

let nextTime = Date.now() - 3_600_000;

/** The body of a push of points with times of their own. */
const bodyOf = (report: Report, points: number): string =>
  JSON.stringify({
    data_id: dataIdOf(report),
    access_token: report.data_source.token,
    data: Array.from({ length: points }, () => ({ metrics: { up: 1 }, timestamp: nextTime++ })),
  });

/** Starts NATS, both databases and the roles, and looks at their account. */
export const startAccountStack = async (options: StackOptions = {}): Promise<AccountStack> => {
  const stack = await startStack({ traces: true, ...options });
  const bus = await connectBus(stack.engines.nats.url, 'test');
  const waitedFor = new Set<string>();

  // By default the last hour: a receiver whose clock is late counts before it.
  const since = Math.floor(Date.now() / 1000) - 3 * 3600;
  const accounts = async (): Promise<ShownAccount[]> => {
    const { status, body } = await stack.api('GET', `/api/v1/outcomes?since=${since}`);
    if (status !== 200) throw new Error(`outcomes: ${status} ${JSON.stringify(body)}`);
    return z.object({ items: z.array(accountSchema) }).parse(body).items;
  };
  const account: AccountStack['account'] = async (owner) =>
    (await accounts()).find(({ data_id: dataId, app_id: appId }) =>
      'app_id' in owner ? appId === owner.app_id : dataId === dataIdOf(owner),
    );

  const push: AccountStack['push'] = async (report, points, key) => {
    const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
      method: 'POST',
      headers: key === undefined ? {} : { 'Idempotency-Key': key },
      body: bodyOf(report, points),
    });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('')]);
  };

  const seen: AccountStack['seen'] = async (what, owner, expected, startedAt) => {
    const boundMs = Math.max(1_000, seenMsMax - (performance.now() - startedAt));
    const wanted = order(expected);
    const history: string[] = [];
    const secondsNow = (): string => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
    const found = await waitFor(`${what} is seen`, boundMs, async () => {
      const now = await account(owner);
      if (now === undefined) throw new Error('no account');
      const shown = order(wrongIn(now));
      const text = `${shown.join('; ')} (adds up: ${now.adds_up})`;
      if (!history.at(-1)?.endsWith(text)) history.push(`${secondsNow()}: ${text}`);
      if (String(shown) !== String(wanted) || now.adds_up !== false)
        throw new Error(`${history.join(', ')}: ${JSON.stringify(now)}`);
      const inMetrics = openItems(await stack.metadata.metrics(), idOf(owner));
      for (const { kind, items } of expected)
        if (inMetrics.get(kind) !== items)
          throw new Error(`the metrics have ${kind}: ${inMetrics.get(kind)}`);
      return now;
    });
    process.stdout.write(`${what}: seen after ${secondsNow()} (${order(expected).join('; ')})\n`);
    for (const difference of wrongIn(found)) {
      expect(difference.owners).toEqual([idOf(owner)]);
      waitedFor.add(keyOf(difference));
    }
    expect(wrongIn(found).map(shapeOf)).toHaveLength(expected.length);
    return found;
  };

  return {
    stack,
    bus,
    push,
    pushEach: async (report, requests, points) => {
      for (let count = 0; count < requests; count++) await push(report, points);
    },
    change: async (body) => {
      const response = await fetchEngine(stack.engines.clickhouse.url, { method: 'POST', body });
      if (!response.ok) throw new Error(`${body}: ${await response.text()}`);
    },
    accounts,
    account,
    seen,
    received: async (report, items) => {
      await waitFor(`${items} items of ${dataIdOf(report)} are received`, 60_000, async () => {
        const now = await account(report);
        if (now?.received !== items) throw new Error(JSON.stringify(now));
        return true;
      });
    },
    whole: async (report, items) =>
      waitFor(`${items} items of ${dataIdOf(report)} are whole`, seenMsMax, async () => {
        const now = await account(report);
        const isWhole =
          now?.received === items && now.stored === items && now.in_flight === 0 && now.adds_up === true;
        if (!isWhole) throw new Error(JSON.stringify(now));
        return now;
      }),
    unexpected: async () =>
      (await accounts()).flatMap(wrongIn).filter((difference) => !waitedFor.has(keyOf(difference))),
    settled: async () => {
      for (const stream of ['METRICS', 'TRACES', 'LEDGER'] as const) await stack.waitForEmptyStream(stream);
    },
    stop: async () => {
      await bus.close();
      await stack.stop();
    },
  };
};

/** What the accounts said, asked for every second. */
export type Watch = {
  readonly answers: number;
  /** Those in which an account did not add up, with its owner and its differences. */
  readonly falseAnswers: readonly string[];
  stop(): Promise<void>;
};

export const startWatch = (on: AccountStack): Watch => {
  const stopping = new AbortController();
  const falseAnswers: string[] = [];
  let answers = 0;
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // Where metadata or ClickHouse was killed there is no answer.
      const accounts = await on.accounts().catch(() => undefined);
      if (accounts !== undefined) answers++;
      for (const account of accounts ?? [])
        if (account.adds_up === false) falseAnswers.push(JSON.stringify(account));
      await delay(1_000, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const running = run();
  return {
    get answers() {
      return answers;
    },
    falseAnswers,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
};
