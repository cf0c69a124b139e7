import { gzipSync } from 'node:zlib';
import { connectBus } from '../src/bus/connection.ts';
import { createPublisher } from '../src/bus/publisher.ts';
import { type Delivery, startPuller } from '../src/bus/puller.ts';
import { ensureTopology } from '../src/bus/topology.ts';
import { loadPipelines } from '../src/config/pipelines.ts';
import { inflate } from '../src/ingress/http/inflate.ts';
import { createElapsed } from '../src/model/elapsed.ts';
import { createBlockWriter } from '../src/stores/clickhouse/block-writer.ts';
import { createClickhouse } from '../src/stores/clickhouse/client.ts';
import { spansTable } from '../src/stores/clickhouse/item-tables.ts';
import { insertId } from '../src/stores/clickhouse/query-id.ts';
import { createQuestdbSql } from '../src/stores/questdb/sql.ts';
import { createQuestdbTables } from '../src/stores/questdb/tables.ts';
import { createQuestdbWriter } from '../src/stores/questdb/writer.ts';
import { envelopeVersion } from '../src/wire/frame.ts';
import { makeTables, startEngines, type TestEngines } from '../test/support/stack/engines.ts';
import { startUsage } from './processes.ts';
import type { Row } from './report.ts';
import { rounded } from './statistics.ts';

/** Messages in ingress's form and rows in transfer's form, with this many items each. */
export type StageInputs = {
  readonly pushBodies: readonly Buffer[];
  readonly pointsPerBody: number;
  readonly pointMessages: readonly Uint8Array[];
  readonly pointRows: readonly Uint8Array[];
  readonly pointsTable: string;
  readonly spanMessages: readonly Uint8Array[];
  readonly spanBlocks: readonly Uint8Array[];
  readonly spansPerBody: number;
};

const root = new URL('..', import.meta.url).pathname;
const secondsPerStage = 2;
const inFlight = 16;
const rowsPerWrite = 20_000;

type Counted = {
  readonly items: number;
  readonly seconds: number;
  readonly own: number;
  readonly engine: number;
};

/** Runs `work`, which returns its number of items; measures the CPU time of this process and of the engine. */
const timed = async (engine: number | undefined, work: () => Promise<number>): Promise<Counted> => {
  const usageSince = startUsage(engine === undefined ? {} : { engine });
  const before = process.cpuUsage();
  const start = performance.now();
  const items = await work();
  const own = process.cpuUsage(before);
  return {
    items,
    seconds: (performance.now() - start) / 1000,
    own: (own.user + own.system) / 1e6,
    engine: usageSince().cpu['engine'] ?? 0,
  };
};

const rowOf = (stage: string, { items, seconds, own, engine }: Counted, engineName?: string): Row => ({
  stage,
  items_per_second: Math.round(items / seconds),
  cpu_seconds_per_million: rounded((own / items) * 1e6),
  ...(engineName === undefined ? {} : { [`cpu_${engineName}`]: rounded((engine / items) * 1e6) }),
});

/** Calls `work` in turn over the inputs until the time is up, with this many calls at once; returns the number of calls. */
const repeat = async <T>(
  inputs: readonly T[],
  atOnce: number,
  work: (input: T, number: number) => Promise<void>,
): Promise<number> => {
  const end = performance.now() + secondsPerStage * 1000;
  let done = 0;
  const run = async (): Promise<void> => {
    while (performance.now() < end) {
      const number = done++;
      const input = inputs[number % inputs.length];
      if (input !== undefined) await work(input, number);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  return done;
};

const inflateRow = async ({ pushBodies, pointsPerBody }: StageInputs): Promise<Row> => {
  const bodies = pushBodies.map((body) => gzipSync(body));
  const counted = await timed(
    undefined,
    async () =>
      pointsPerBody *
      (await repeat(bodies, 1, async (body) => {
        const inflated = await inflate(
          body,
          'gzip',
          { inflatedBytesMax: 2 ** 25, inflateRatioMax: 600 },
          { take: () => true, see: () => true },
        );
        if (typeof inflated === 'string') throw new Error(`a body does not inflate: ${inflated}`);
      })),
  );
  return rowOf('inflate (gzip)', counted);
};

/** Publishes for a while, then reads the same messages again. */
const busRows = async (
  engines: TestEngines,
  stream: 'METRICS' | 'TRACES',
  messages: readonly Uint8Array[],
  itemsPerMessage: number,
): Promise<Row[]> => {
  const bus = await connectBus(engines.nats.url, 'tidemark-bench');
  const { streams } = loadPipelines(`${root}pipelines`);
  await ensureTopology(bus, streams);
  const publisher = createPublisher(bus, { deadlineMs: 10_000, awayMs: 1_500 });
  const subject = `${stream.toLowerCase()}.0`;
  let published = 0;
  const sent = await timed(engines.nats.pid, async () => {
    published = await repeat(messages, inFlight, async (message, number) => {
      await publisher.publish(subject, `bench-${stream}-${number}`, message, envelopeVersion);
    });
    return published * itemsPerMessage;
  });
  let taken = 0;
  const all = Promise.withResolvers<void>();
  const received = await timed(engines.nats.pid, async () => {
    const puller = startPuller(bus, {
      stream,
      consumer: stream === 'METRICS' ? 'questdb' : 'clickhouse',
      bytesMax: 2 ** 24,
      ackWaitMs: () => 30_000,
      elapsed: createElapsed(),
      hasRoom: () => true,
      onDelivery: (delivery: Delivery) => {
        delivery.ack();
        if (++taken === published) all.resolve();
      },
      onFault: () => {},
    });
    await all.promise;
    void puller.stop();
    return taken * itemsPerMessage;
  });
  publisher.close();
  await bus.close();
  return [rowOf('publish', sent, 'nats'), rowOf('consume and acknowledge', received, 'nats')];
};

const pointsWriteRow = async (engines: TestEngines, inputs: StageInputs): Promise<Row> => {
  const { url, pid } = engines.questdb;
  const tables = createQuestdbTables(createQuestdbSql({ url }), `${root}schemas`);
  await tables.createTable('wide', inputs.pointsTable);
  const writer = createQuestdbWriter({ url, timeoutMs: 20_000 });
  const bodies = Math.min(inputs.pointRows.length, rowsPerWrite / inputs.pointsPerBody);
  const rows = Buffer.concat(inputs.pointRows.slice(0, bodies));
  const write = async (): Promise<void> => {
    const result = await writer.write([rows]);
    if (result.kind !== 'stored')
      throw new Error(`QuestDB does not take the rows: ${JSON.stringify(result)}`);
  };
  await write();
  const counted = await timed(
    pid,
    async () => (await repeat([rows], 1, write)) * bodies * inputs.pointsPerBody,
  );
  await writer.close();
  return rowOf(`write (${rowsPerWrite} rows a request)`, counted, 'questdb');
};

const spansWriteRow = async (engines: TestEngines, inputs: StageInputs): Promise<Row> => {
  const { url, pid } = engines.clickhouse;
  await makeTables(url);
  const clickhouse = createClickhouse({ url });
  const writer = createBlockWriter(clickhouse, spansTable, { insertMsMax: 20_000 });
  const wanted = rowsPerWrite / inputs.spansPerBody;
  const blocks = Array.from(
    { length: wanted },
    (_, index) => inputs.spanBlocks[index % inputs.spanBlocks.length] ?? Buffer.alloc(0),
  );
  let attempt = 0;
  const write = (): Promise<void> => {
    const id = ++attempt;
    const queryId = insertId({ stream: 'TRACES', first: id, last: id, boot: 1, attempt: id });
    return writer.insertPlain({ queryId, blocks });
  };
  await write();
  const counted = await timed(pid, async () => (await repeat([blocks], 1, write)) * rowsPerWrite);
  await clickhouse.close();
  return rowOf(`write (${rowsPerWrite} rows an insert)`, counted, 'clickhouse');
};

/** The stages that need an engine, each by itself on engines of its own: rows of points, rows of spans. */
export const measureEngineStages = async (inputs: StageInputs): Promise<{ points: Row[]; spans: Row[] }> => {
  const inflating = await inflateRow(inputs);
  await using engines = await startEngines({ nats: true, questdb: true, clickhouse: true });
  const { pointMessages, pointsPerBody, spanMessages, spansPerBody } = inputs;
  return {
    points: [
      inflating,
      ...(await busRows(engines, 'METRICS', pointMessages, pointsPerBody)),
      await pointsWriteRow(engines, inputs),
    ],
    spans: [
      ...(await busRows(engines, 'TRACES', spanMessages, spansPerBody)),
      await spansWriteRow(engines, inputs),
    ],
  };
};
