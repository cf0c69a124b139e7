import { connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type BlockWriter, createBlockWriter } from '../../src/stores/clickhouse/block-writer.ts';
import { type Clickhouse, createClickhouse } from '../../src/stores/clickhouse/client.ts';
import { spansTable } from '../../src/stores/clickhouse/item-tables.ts';
import { insertId, messagesLabel } from '../../src/stores/clickhouse/query-id.ts';
import { boundsOf, nativeOf, type SpanRows, spanSelect, tracesOf } from '../support/otlp/span-rows.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import { until } from '../support/until.ts';

const noon = 1_763_640_000_000_000_000n;
const batch: SpanRows = { first: 1_000n, count: 6_000, startNs: noon, stepNs: 1_000_000n };

let engines: TestEngines;
let url: string;
let clickhouse: Clickhouse;
let writer: BlockWriter;
let attempt = 0;

beforeAll(async () => {
  engines = await startEngines({ clickhouse: true }, { hasTables: true });
  url = engines.clickhouse.url;
  clickhouse = createClickhouse({ url });
  writer = createBlockWriter(clickhouse, spansTable, { insertMsMax: 20_000 });
});
afterAll(async () => {
  await clickhouse?.close();
  await engines?.stop();
});
beforeEach(async () => {
  await clickhouse.run('TRUNCATE TABLE otel.otel_traces');
  await clickhouse.run('TRUNCATE TABLE otel.otel_traces_trace_id_ts');
});

const idOf = (first: number, last: number, stream = 'TRACES'): string =>
  insertId({ stream, first, last, boot: 5, attempt: ++attempt });

const numberOf = async (query: string): Promise<number> => {
  const [row] = await clickhouse.rows(z.object({ c: z.coerce.number() }), query);
  return row?.c ?? Number.NaN;
};
const stored = (): Promise<number> => numberOf('SELECT count() AS c FROM otel.otel_traces');
const isRunning = async (id: string): Promise<boolean> => {
  const params = { id };
  const rows = await clickhouse.rows(
    z.object({ query_id: z.string() }),
    'SELECT query_id FROM system.processes WHERE query_id = {id:String}',
    { params },
  );
  return rows.length > 0;
};

type Wire = {
  /** Bytes that one connection has brought so far. */
  readonly toServer: number;
  readonly isAnswered: boolean;
};

/** A proxy to ClickHouse that passes at most `bytesMax` of a connection, and nothing more once `isCut` returns true. */
const wireTo = async (
  isCut: (wire: Wire) => boolean,
  bytesMax = Number.POSITIVE_INFINITY,
): Promise<{ url: string; drop(): void }> => {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const { hostname, port } = new URL(url);
    const upstream = connect(Number(port), hostname);
    let toServer = 0;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (bytes: Buffer) => {
      const room = Math.max(0, bytesMax - toServer);
      toServer += bytes.length;
      if (!isCut({ toServer, isAnswered: false })) upstream.write(bytes.subarray(0, room));
    });
    upstream.on('data', (bytes) => {
      if (!isCut({ toServer, isAnswered: true })) client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(async () => {
    drop();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  const port = String(typeof address === 'object' && address !== null ? address.port : 0);
  return { url: Object.assign(new URL(url), { port, hostname: '127.0.0.1' }).href, drop };
};

const writerAt = (address: string, insertMsMax = 60_000): BlockWriter => {
  const client = createClickhouse({ url: address });
  onTestFinished(() => client.close());
  return createBlockWriter(client, spansTable, { insertMsMax });
};

describe('ClickHouse killed during an insert', () => {
  // The rows are committed, the answer is lost; or they are not, or some are: the guard must be right in each case.
  it.each([
    ['before it has the whole of it', 'none', (wire: Wire, size: number) => wire.toServer > size / 2],
    ['when it has the last byte', 'any', (wire: Wire, size: number) => wire.toServer >= size],
    ['before its answer arrives', 'all', (wire: Wire) => wire.isAnswered],
  ] as const)('%s: the guarded repeat makes it exact', async (_, left, isTime) => {
    const blocks = [await nativeOf(url, spanSelect(batch))];
    const size = blocks.reduce((sum, block) => sum + block.length, 0);
    let killed: Promise<void> | undefined;
    const wire = await wireTo((seen) => {
      if (isTime(seen, size)) killed ??= engines.clickhouse.kill();
      return killed !== undefined;
    });
    await expect(writerAt(wire.url).insertPlain({ queryId: idOf(1, 4), blocks })).rejects.toMatchObject({
      kind: 'transient',
      code: 'clickhouse_unavailable',
    });
    await killed;
    await engines.clickhouse.start();
    const before = await stored();
    if (left !== 'any') expect(before).toBe(left === 'all' ? batch.count : 0);
    expect(await writer.killCovering({ stream: 'TRACES', firstSequence: 1, lastSequence: 4 })).toBe(0);
    await writer.insertGuarded({ queryId: idOf(1, 4), blocks, ...boundsOf(batch) });
    await writer.repairTraceLookup(await tracesOf(url, batch));
    expect(await stored()).toBe(batch.count);
    expect(await numberOf('SELECT uniqExact(uid) AS c FROM otel.otel_traces')).toBe(batch.count);
    expect(await numberOf('SELECT uniqExact(TraceId) AS c FROM otel.otel_traces_trace_id_ts')).toBe(
      batch.count / 10,
    );
  });
});

describe('killing running inserts', () => {
  /** An insert that takes a minute; what it answers is its failure. */
  const slowInsert = async (queryId: string, sequences?: number[]): Promise<string> => {
    const query = `INSERT INTO otel.otel_traces SELECT * FROM (${spanSelect({ ...batch, count: 60 })})
      WHERE NOT ignore(sleepEachRow(1)) SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 3000000`;
    const label =
      sequences === undefined ? '' : `&log_comment=${encodeURIComponent(messagesLabel(sequences))}`;
    const response = await fetchEngine(`${url}/?query_id=${queryId}${label}`, {
      method: 'POST',
      body: query,
    });
    return response.text();
  };

  it('ends every insert of the stream that may bring one of the messages, and no other', async () => {
    const byRange = [idOf(10, 20), idOf(15, 15), idOf(1, 100)];
    const byLabel: [string, number[]] = [idOf(1, 100), [1, 15, 100]];
    const covering = [...byRange, byLabel[0]];
    // The last one's range covers the messages, but others took those.
    const interleaved: [string, number[]] = [idOf(12, 16), [12, 14, 16]];
    const others = [
      idOf(1, 11),
      idOf(21, 30),
      idOf(10, 20, 'METRICS'),
      idOf(10, 20, 'TRACES2'),
      'tm-TRACES-x',
    ];
    const answers = new Map<string, Promise<string>>();
    for (const id of [...byRange, ...others]) answers.set(id, slowInsert(id));
    for (const [id, sequences] of [byLabel, interleaved]) answers.set(id, slowInsert(id, sequences));
    for (const id of answers.keys()) await until(`${id} runs`, () => isRunning(id));
    const messages = { stream: 'TRACES', firstSequence: 13, lastSequence: 20, sequences: [13, 15, 20] };
    expect(await writer.killCovering(messages)).toBe(covering.length);
    for (const id of covering) {
      expect(await isRunning(id)).toBe(false);
      expect(await answers.get(id)).toContain('QUERY_WAS_CANCELLED');
    }
    for (const id of [...others, interleaved[0]]) expect(await isRunning(id)).toBe(true);
    expect(await writer.killCovering(messages)).toBe(0);
    const whole = { stream: 'TRACES', firstSequence: 13, lastSequence: 20 };
    expect(await writer.killCovering(whole)).toBe(1);
    expect(await isRunning(interleaved[0])).toBe(false);
    await clickhouse.run('KILL QUERY WHERE query_id IN {ids:Array(String)} SYNC', {
      params: { ids: others },
    });
    await Promise.all(answers.values());
    expect(await stored()).toBe(0);
  });

  /**
   * An insert of which a little more than its head has arrived, as a worker leaves it that is paused or disconnected.
   */
  const halfSentInsert = async (queryId: string, sequences: number[]) => {
    const blocks = [await nativeOf(url, spanSelect({ ...batch, count: 40 }))];
    const wire = await wireTo(() => false, 4_000);
    const outcome = writerAt(wire.url)
      .insertPlain({ queryId, blocks, sequences })
      .catch((error: unknown) => error);
    await until('the half sent insert is seen', () => isRunning(queryId));
    return { outcome, drop: wire.drop };
  };

  it('finds an insert that was left half sent, and waits until it can store nothing', async () => {
    const id = idOf(7, 9);
    const { outcome, drop } = await halfSentInsert(id, [7, 9]);
    const between = { stream: 'TRACES', firstSequence: 8, lastSequence: 8, sequences: [8] };
    expect(await writer.killCovering(between)).toBe(0);
    let isOver = false;
    const killed = writer
      .killCovering({ stream: 'TRACES', firstSequence: 9, lastSequence: 12, sequences: [9, 12] })
      .then((count) => {
        isOver = true;
        return count;
      });
    const cancelled = `SELECT max(is_cancelled) AS c FROM system.processes WHERE query_id = '${id}'`;
    await until('it is asked to end', async () => (await numberOf(cancelled)) === 1);
    expect(isOver).toBe(false);
    drop();
    expect(await killed).toBe(1);
    expect(await isRunning(id)).toBe(false);
    expect(await outcome).toMatchObject({ kind: 'transient' });
    expect(await stored()).toBe(0);
  });

  it('is given up after its time, as a transient failure', async () => {
    const id = idOf(50, 50);
    const { outcome, drop } = await halfSentInsert(id, [50]);
    const impatient = createBlockWriter(clickhouse, spansTable, { insertMsMax: 1_000, killMsMax: 200 });
    const range = { stream: 'TRACES', firstSequence: 50, lastSequence: 50 };
    await expect(impatient.killCovering(range)).rejects.toMatchObject({
      kind: 'transient',
      code: 'clickhouse_unavailable',
      message: expect.stringContaining(id),
    });
    drop();
    expect(await outcome).toMatchObject({ kind: 'transient' });
  });
});
