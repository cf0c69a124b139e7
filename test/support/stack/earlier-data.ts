import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { createStreamReader } from '../../../src/bus/stream-reader.ts';
import { kinds, settingDefinitions } from '../../../src/config/settings.ts';
import { waitFor } from '../wait.ts';
import { unpackEarlierProgram } from './earlier-program.ts';
import { takePorts } from './ports.ts';
import { testPipelines } from './stack.ts';
import { childrenOf, killUp, spawnUp, type Up, untilReady } from './up-process.ts';
import { type LineAddresses, openWholeLine, type WholeLine } from './whole-line.ts';

/** Whose items are counted: a report with a wide table, one with a narrow table, and an application. */
export type OwnerName = 'wide' | 'narrow' | 'spans';

/** What has to become of the items that were acknowledged. */
type Books = { stored: number; readonly dropped: Record<string, number>; deadLettered: number };

/** A push with a key; the same points each time, under any token. */
export type KeyedPush = { readonly key: string; readonly token: string; body(token: string): string };

/** An export of spans, and the token that it was sent with. */
export type Export = { readonly body: string; readonly token: string };

/** What was acknowledged, and where it is to be found. */
export type Ledger = {
  readonly wide: { readonly dataId: number; readonly table: string; token: string };
  readonly narrow: { readonly dataId: number; readonly table: string; readonly token: string };
  readonly spans: { readonly appId: number; token: string };
  readonly keyed: KeyedPush[];
  readonly exports: Export[];
  readonly books: Readonly<Record<OwnerName, Books>>;
};

/** A row of a narrow table is one metric of a point. */
const rowsPerItem = { wide: 1, narrow: 2, spans: 1 } as const;
const owners = ['wide', 'narrow', 'spans'] as const;

const dayMs = 86_400_000;
const firstMs = Date.now() - 600_000;
let made = 0;

/** Points of times of their own: two that came to have one uid would still be two rows. */
const points = (count: number, targetLength = 5): object[] =>
  Array.from({ length: count }, () => {
    const metrics = { first: ++made, second: -made };
    return { metrics, target: 't'.repeat(targetLength), timestamp: firstMs + made };
  });

export const droppedReason = 'timestamp_too_far_ahead';

const tooFarAhead = () => ({
  metrics: { first: 1, second: 2 },
  target: 'ahead',
  timestamp: Date.now() + dayMs,
});

const spansNamed = (...names: string[]): string => {
  const traceId = (++made).toString(16).padStart(32, 'c');
  const time = `${Date.now()}000000`;
  const spans = names.map((name, index) => ({
    ...{ traceId, spanId: String(index + 1).padStart(16, '0'), name, kind: 1 },
    ...{ startTimeUnixNano: time, endTimeUnixNano: time },
  }));
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
};

const bodyOf = (dataId: number, token: string, data: readonly object[]): string =>
  JSON.stringify({ data_id: dataId, access_token: token, data });

/** Until the receivers have the token, which they refuse before. */
const taken = async (send: () => Promise<{ status: number; text: string }>): Promise<void> => {
  await waitFor('the request is taken', 60_000, async () => {
    const { status, text } = await send();
    if (status !== 200) throw new Error(`${status} ${text}`);
    return true;
  });
};

/** Pushes this many points, and as many more that are dropped. */
export const pushPoints = async (
  line: WholeLine,
  { books, ...ledger }: Ledger,
  owner: 'wide' | 'narrow',
  kept: number,
  dropped = 0,
): Promise<void> => {
  const { dataId, token } = ledger[owner];
  const data = [...points(kept), ...Array.from({ length: dropped }, tooFarAhead)];
  await taken(() => line.push(bodyOf(dataId, token, data)));
  books[owner].stored += kept;
  if (dropped > 0) books[owner].dropped[droppedReason] = (books[owner].dropped[droppedReason] ?? 0) + dropped;
};

const pushKeyed = async (
  line: WholeLine,
  { wide, books, keyed }: Ledger,
  { key, count, targetLength }: { key: string; count: number; targetLength?: number },
): Promise<void> => {
  const data = points(count, targetLength);
  const { dataId, token } = wide;
  const push: KeyedPush = { key, token, body: (each) => bodyOf(dataId, each, data) };
  await taken(() => line.push(push.body(token), key));
  keyed.push(push);
  books.wide.stored += count;
};

/** Exports spans of these names, of one trace. */
export const exportSpans = async (
  line: WholeLine,
  { spans, books }: Ledger,
  ...names: string[]
): Promise<Export> => {
  const sent: Export = { body: spansNamed(...names), token: spans.token };
  await taken(() => line.exportSpans(sent.body, sent.token));
  books.spans.stored += names.length;
  return sent;
};

const createOwners = async (line: WholeLine): Promise<Ledger> => {
  const reportOf = async (name: string, extra = {}) => {
    const { data_source: source, result_table: table } = await line.createReport(name, extra);
    return { dataId: source.mon_data_id, table: table.table_id, token: source.token };
  };
  const application = await line.createApplication('spans');
  const books = (): Books => ({ stored: 0, dropped: {}, deadLettered: 0 });
  return {
    wide: await reportOf('wide'),
    narrow: await reportOf('narrow', { is_split_measurement: true }),
    spans: { appId: application.app_id, token: application.token },
    keyed: [],
    exports: [],
    books: { wide: books(), narrow: books(), spans: books() },
  };
};

/** A push without points takes no uids: it is refused for that once its token is known. */
const untilKnown = (line: WholeLine, { wide, narrow }: Ledger): Promise<unknown> =>
  waitFor('the receivers know the reports', 60_000, async () => {
    const answers = [wide, narrow].map(({ dataId, token }) => line.push(bodyOf(dataId, token, [])));
    return (await Promise.all(answers)).every(({ status }) => status === 400);
  });

/** Gives the report and the application a new token. */
export const rotateTokens = async (line: WholeLine, { wide, spans }: Ledger): Promise<void> => {
  wide.token = await line.rotate(`data-sources/${wide.dataId}`);
  spans.token = await line.rotate(`applications/${spans.appId}`);
};

/** The spans of one trace; ClickHouse refuses the one in the middle. */
const exportPoison = async (line: WholeLine, ledger: Ledger): Promise<void> => {
  const table = 'ALTER TABLE otel.otel_traces';
  await line.clickhouse(`${table} ADD CONSTRAINT poison CHECK SpanName != 'poison'`);
  await exportSpans(line, ledger, 'before', 'poison', 'after');
  await waitFor('the dead letter', 60_000, async () => (await line.messages('DEADLETTER')) === 1);
  await line.settled();
  await line.clickhouse(`${table} DROP CONSTRAINT poison`);
  ledger.books.spans.stored--;
  ledger.books.spans.deadLettered++;
};

/** The stored items of each owner, and their outcomes. */
export const figuresOf = async (line: WholeLine, ledger: Ledger) => {
  await line.settled();
  const { wide, narrow, spans } = ledger;
  const pointsIn = async (table: string) => {
    const [row] = await line.questdb(`SELECT count(), count_distinct(uid) FROM "${table}"`);
    return { rows: Number(row?.[0]), uids: Number(row?.[1]) };
  };
  const spansOf = async () => {
    const text = await line.clickhouse(
      `SELECT count(), uniqExact(uid) FROM otel.otel_traces WHERE AppId = ${spans.appId} FORMAT TSV`,
    );
    const [rows, uids] = text.trim().split('\t').map(Number);
    return { rows, uids };
  };
  const of = async (
    stored: Promise<object>,
    owner: `data_id=${number}` | `app_id=${number}`,
  ): Promise<object> => {
    const { received, stored: recorded, dropped, dead_lettered } = (await line.outcomes(owner)) ?? {};
    return { ...(await stored), received, recorded, dropped, dead_lettered };
  };
  return {
    wide: await of(pointsIn(wide.table), `data_id=${wide.dataId}`),
    narrow: await of(pointsIn(narrow.table), `data_id=${narrow.dataId}`),
    spans: await of(spansOf(), `app_id=${spans.appId}`),
  };
};

/** What the figures have to be. */
export const expectedOf = ({ books }: Ledger): object =>
  Object.fromEntries(
    owners.map((owner) => {
      const { stored, dropped, deadLettered } = books[owner];
      const rows = stored * rowsPerItem[owner];
      const received = stored + deadLettered + Object.values(dropped).reduce((sum, items) => sum + items, 0);
      return [owner, { rows, uids: rows, received, recorded: stored, dropped, dead_lettered: deadLettered }];
    }),
  );

const transferOf = (up: Up): number => {
  const found = childrenOf(up.child.pid).find((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('main.ts\0transfer'),
  );
  if (found === undefined) throw new Error('up has no transfer');
  return found;
};

/** Points and spans that are acknowledged and wait in the streams. */
const leaveBacklog = async (line: WholeLine, ledger: Ledger, up: Up): Promise<void> => {
  process.kill(transferOf(up), 'SIGSTOP');
  for (let push = 0; push < 6; push++) await pushPoints(line, ledger, 'wide', 50);
  await pushPoints(line, ledger, 'wide', 3, 1);
  await pushPoints(line, ledger, 'narrow', 20);
  // Two messages.
  await pushKeyed(line, ledger, { key: 'K3', count: 3_000, targetLength: 400 });
  const names = Array.from({ length: 40 }, (_, index) => `waiting ${index}`);
  ledger.exports.push(await exportSpans(line, ledger, ...names));
  const [metrics, traces] = [await line.messages('METRICS'), await line.messages('TRACES')];
  if (metrics !== 10 || traces !== 1) throw new Error(`${metrics} and ${traces} messages wait`);
  // The sample of a dropped item: receivers publish it once a second.
  await waitFor('the example', 60_000, async () => {
    const { entries } = await createStreamReader(line.bus).readForwards('LEDGER', {
      fromSequence: 1,
      limit: 100,
    });
    return entries.some(({ payload }) => Buffer.from(payload).includes(droppedReason));
  });
};

const play = async (line: WholeLine, up: Up): Promise<Ledger> => {
  const ledger = await createOwners(line);
  await untilKnown(line, ledger);
  await pushPoints(line, ledger, 'wide', 100);
  await pushPoints(line, ledger, 'wide', 5, 1);
  await pushPoints(line, ledger, 'narrow', 50);
  await pushKeyed(line, ledger, { key: 'K1', count: 20 });
  ledger.exports.push(await exportSpans(line, ledger, 'a', 'b', 'c'));
  await rotateTokens(line, ledger);
  await pushKeyed(line, ledger, { key: 'K2', count: 20 });
  ledger.exports.push(await exportSpans(line, ledger, 'd', 'e'));
  await exportPoison(line, ledger);
  const examples = `SELECT count() FROM otel.ingest_samples WHERE reason = '${droppedReason}'`;
  await waitFor('the example of what was dropped', 60_000, async () => {
    return (await line.clickhouse(examples)) === '1\n';
  });
  const [found, expected] = [await figuresOf(line, ledger), expectedOf(ledger)].map((each) =>
    JSON.stringify(each),
  );
  if (found !== expected) throw new Error(`the earlier version itself stored ${found}, not ${expected}`);
  await leaveBacklog(line, ledger, up);
  return ledger;
};

/** A data folder that an earlier version left behind when it was killed, and how to start a program on it. */
export type EarlierData = {
  readonly ledger: Ledger;
  readonly addresses: LineAddresses;
  /** Variables of a `tidemark up` at the same addresses. */
  readonly env: Readonly<Record<string, string>>;
};

/** Lets the earlier version make `dataFolder`; `pipelinesFolder` is for pipelines with a short ack wait. */
export const makeEarlierData = async (dataFolder: string, pipelinesFolder: string): Promise<EarlierData> => {
  const names = settingDefinitions.filter(({ kind }) => kind === kinds.port).map(({ env }) => env);
  const ports = await takePorts(names.length);
  const env = Object.fromEntries(names.map((name, index) => [name, String(ports[index])]));
  const at = (name: string, scheme = 'http'): string =>
    `${scheme}://127.0.0.1:${env[`TIDEMARK_${name}_PORT`]}`;
  const addresses = {
    push: at('INGRESS_PUSH'),
    otlp: at('INGRESS_OTLP'),
    admin: at('METADATA_API'),
    nats: at('NATS_CLIENT', 'nats'),
    questdb: at('QUESTDB_HTTP'),
    clickhouse: at('CLICKHOUSE_HTTP'),
  };
  // Under any umask of this process, it is as open as an earlier version left it.
  mkdirSync(dataFolder);
  chmodSync(dataFolder, 0o755);
  const program = unpackEarlierProgram();
  const pipelines = testPipelines(pipelinesFolder, 4, 300, (_file, text) => text, program.folder);
  const up = spawnUp(dataFolder, { ...env, TIDEMARK_PIPELINES: pipelines }, [], program.folder);
  let line: WholeLine | undefined;
  try {
    await untilReady(up);
    line = await openWholeLine(addresses, dataFolder);
    return { ledger: await play(line, up), addresses, env };
  } finally {
    await line?.close();
    await killUp(up);
    program.remove();
  }
};
