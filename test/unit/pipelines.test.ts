import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { Fault } from '../../src/model/fault.ts';
import { tempFolder } from '../support/temp-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const schemas = join(root, 'schemas');

/** A copy of the shipped pipelines to be broken. */
const copied = async (): Promise<string> => {
  const folder = join(await tempFolder(), 'pipelines');
  await cp(join(root, 'pipelines'), folder, { recursive: true });
  return folder;
};

const refusalOf = (pipelinesFolder: string, schemasFolder = schemas): string => {
  try {
    loadPipelines(pipelinesFolder, schemasFolder);
  } catch (error) {
    if (error instanceof Fault && error.kind === 'permanent' && error.code === 'config_invalid')
      return error.message;
    throw error;
  }
  throw new Error('the pipelines were taken');
};

/** Replaces the one place where `from` stands and says on which line that is. */
const breakFile = async (file: string, from: string, to: string): Promise<number> => {
  const text = await readFile(file, 'utf8');
  const [before = '', after, ...more] = text.split(from);
  if (after === undefined || more.length > 0) throw new Error(`${from} does not stand once in ${file}`);
  await writeFile(file, before + to + after);
  return before.split('\n').length;
};

describe('the shipped pipelines', () => {
  it('load, and are what the design says', () => {
    const { metrics, streams } = loadPipelines(join(root, 'pipelines'), schemas);
    expect(metrics.limits).toEqual({
      bodyBytesMax: 16 * 2 ** 20,
      inflatedBytesMax: 32 * 2 ** 20,
      pointsMax: 50_000,
      metricsMax: 512,
      dimensionsMax: 64,
    });
    expect(metrics.time).toEqual({ aheadMsMax: 3_600_000, ageMsMax: undefined });
    expect(metrics.consumer).toEqual({
      name: 'questdb',
      stream: 'METRICS',
      ackWaitMs: 30_000,
      ackPendingMax: 4096,
    });
    expect(metrics.writeIntervalMs).toBe(50);
    expect(metrics.storeTimeoutMs).toBeLessThan(metrics.consumer.ackWaitMs);
    const retention = Object.fromEntries(streams.map(({ name, retention: kept }) => [name, kept]));
    expect(retention).toEqual({
      METRICS: 'workqueue',
      TRACES: 'workqueue',
      LEDGER: 'workqueue',
      DEADLETTER: 'limits',
      AUDIT: 'limits',
    });
    for (const { bytesMax, duplicateWindowMs } of streams) {
      expect(bytesMax).toBeGreaterThan(2 ** 20);
      expect(duplicateWindowMs).toBe(300_000);
    }
  });

  it('are read: another value is another behaviour', async () => {
    const folder = await copied();
    const file = join(folder, 'metrics.yaml');
    for (const [from, to] of [
      ['body_bytes_max: 16MiB', 'body_bytes_max: 1KiB'],
      ['inflated_bytes_max: 32MiB', 'inflated_bytes_max: 2KiB'],
      ['points_max: 50000', 'points_max: 3'],
      ['metric_columns_max: 512', 'metric_columns_max: 4'],
      ['dimension_columns_max: 64', 'dimension_columns_max: 5'],
      ['ahead_seconds_max: 3600', 'ahead_seconds_max: off'],
      ['age_seconds_max: off', 'age_seconds_max: 60'],
      ['shards: 1', 'shards: 6'],
      ['deadline_ms: 10000', 'deadline_ms: 700'],
      ['away_ms: 1500', 'away_ms: 8'],
      ['pull_bytes_max: 16MiB', 'pull_bytes_max: 17MiB'],
      ['rows_per_write_max: 20000', 'rows_per_write_max: 9'],
      ['write_interval_ms: 50', 'write_interval_ms: 7'],
      ['store_timeout_ms: 20000', 'store_timeout_ms: 1000'],
    ] as const) {
      await breakFile(file, from, to);
    }
    await breakFile(join(folder, 'streams.yaml'), 'bytes_max: 256MiB', 'bytes_max: 1MiB');
    const { metrics, streams } = loadPipelines(folder, schemas);
    expect(metrics).toMatchObject({
      limits: { bodyBytesMax: 1024, inflatedBytesMax: 2048, pointsMax: 3, metricsMax: 4, dimensionsMax: 5 },
      time: { aheadMsMax: undefined, ageMsMax: 60_000 },
      publish: { subject: 'metrics', shards: 6, deadlineMs: 700, awayMs: 8 },
      consumer: { name: 'questdb', stream: 'METRICS', ackWaitMs: 30_000, ackPendingMax: 4096 },
      pullBytesMax: 17 * 2 ** 20,
      rowsPerWriteMax: 9,
      writeIntervalMs: 7,
      storeTimeoutMs: 1000,
    });
    expect(streams.find(({ name }) => name === 'AUDIT')?.bytesMax).toBe(2 ** 20);
  });

  it('of outcomes are read, too', async () => {
    const shipped = loadPipelines(join(root, 'pipelines'), schemas).ledger;
    expect(shipped).toMatchObject({
      consumer: { name: 'ledger', stream: 'LEDGER' },
      writeIntervalMs: 2_000,
      storeTimeoutMs: 20_000,
      drainMs: 1_000,
      breaker: { inARowMax: 1_000, shareMax: 0.2, shareItemsMin: 10_000, pauseMs: 60_000 },
    });
    const folder = await copied();
    const file = join(folder, ledgerFile);
    for (const [from, to] of [
      ['pull_bytes_max: 16MiB', 'pull_bytes_max: 17MiB'],
      ['rows_per_write_max: 50000', 'rows_per_write_max: 9'],
      ['write_interval_ms: 2000', 'write_interval_ms: 7'],
      ['store_timeout_ms: 20000', 'store_timeout_ms: 900'],
      ['drain_ms: 1000', 'drain_ms: 8'],
      ['dead_letters_in_a_row_max: 1000', 'dead_letters_in_a_row_max: 5'],
    ] as const) {
      await breakFile(file, from, to);
    }
    expect(loadPipelines(folder, schemas).ledger).toMatchObject({
      pullBytesMax: 17 * 2 ** 20,
      rowsPerWriteMax: 9,
      writeIntervalMs: 7,
      storeTimeoutMs: 900,
      drainMs: 8,
      breaker: { inARowMax: 5 },
    });
  });

  it('keep spans for ever unless they say for how many days', async () => {
    expect(loadPipelines(join(root, 'pipelines'), schemas).traces.retentionDays).toBeUndefined();
    const folder = await copied();
    await breakFile(join(folder, tracesFile), 'retention_days: off', 'retention_days: 30');
    expect(loadPipelines(folder, schemas).traces.retentionDays).toBe(30);
  });
});

type Broken = {
  what: string;
  file: string;
  from: string;
  to: string;
  pointer: string;
  says: string[];
  line?: number | 'above';
};

const metricsFile = 'metrics.yaml';
const ledgerFile = 'ledger.yaml';
const streamsFile = 'streams.yaml';
const tracesFile = 'traces.yaml';

// A typo in a file nobody validates runs as the default for months: every one has to stop the start and say where it is.
const broken: Broken[] = [
  {
    what: 'a stream of outcomes there is not',
    file: ledgerFile,
    from: 'stream: LEDGER',
    to: 'stream: BOOKS',
    pointer: '/stream',
    says: ['there is no such stream', 'LEDGER'],
  },
  {
    what: 'a stream that takes no outcomes',
    file: ledgerFile,
    from: 'stream: LEDGER',
    to: 'stream: TRACES',
    pointer: '/stream',
    says: ['does not take ledger.>'],
  },
  {
    what: 'an insert of outcomes that outlasts the ack wait',
    file: ledgerFile,
    from: 'store_timeout_ms: 20000',
    to: 'store_timeout_ms: 30000',
    pointer: '/transfer/store_timeout_ms',
    says: ['ack wait of 30000 ms'],
  },
  {
    what: 'stages of another consumer',
    file: ledgerFile,
    from: 'stages: [read, gather, write, settle]',
    to: 'stages: [read, gather, guard, write, settle]',
    pointer: '/transfer/stages',
    says: ['[read, gather, write, settle]'],
  },
  {
    what: 'an unknown key at the top',
    file: metricsFile,
    from: 'pipeline: metrics',
    to: 'pipeline: metrics\npipelin: x',
    pointer: '/',
    says: ['additional properties', 'Remove or correct the key pipelin'],
    line: 1,
  },
  {
    what: 'a misspelt key',
    file: metricsFile,
    from: 'points_max:',
    to: 'point_max:',
    pointer: '/receiver/limits',
    says: ['points_max'],
    line: 'above',
  },
  {
    what: 'an unknown key in a section',
    file: metricsFile,
    from: 'shards: 1',
    to: 'shards: 1\n    shard: 2',
    pointer: '/receiver/publish',
    says: ['Remove or correct the key shard'],
    line: 1,
  },
  {
    what: 'a missing key',
    file: metricsFile,
    from: '  store: questdb\n',
    to: '',
    pointer: '/transfer',
    says: ['required property', 'Add the key store'],
    line: 'above',
  },
  {
    what: 'another pipeline',
    file: metricsFile,
    from: 'pipeline: metrics',
    to: 'pipeline: logs',
    pointer: '/pipeline',
    says: ['Write "metrics"'],
  },
  {
    what: 'a receiver there is not',
    file: metricsFile,
    from: 'kind: push',
    to: 'kind: pull',
    pointer: '/receiver/kind',
    says: ['Write "push"'],
  },
  {
    what: 'a store there is not',
    file: metricsFile,
    from: 'store: questdb',
    to: 'store: influxdb',
    pointer: '/transfer/store',
    says: ['Write "questdb"'],
  },
  {
    what: 'text for a number',
    file: metricsFile,
    from: 'points_max: 50000',
    to: 'points_max: many',
    pointer: '/receiver/limits/points_max',
    says: ['integer'],
  },
  {
    what: 'a number below its least',
    file: metricsFile,
    from: 'shards: 1',
    to: 'shards: 0',
    pointer: '/receiver/publish/shards',
    says: ['>= 1'],
  },
  {
    what: 'a number above its most',
    file: metricsFile,
    from: 'rows_per_write_max: 20000',
    to: 'rows_per_write_max: 500001',
    pointer: '/transfer/rows_per_write_max',
    says: ['<= 500000'],
  },
  {
    what: 'a fraction',
    file: metricsFile,
    from: 'away_ms: 1500',
    to: 'away_ms: 1.5',
    pointer: '/receiver/publish/away_ms',
    says: ['integer'],
  },
  {
    what: 'a size in other units',
    file: metricsFile,
    from: 'body_bytes_max: 16MiB',
    to: 'body_bytes_max: 16MB',
    pointer: '/receiver/limits/body_bytes_max',
    says: ['pattern'],
  },
  {
    what: 'a size that is a number',
    file: metricsFile,
    from: 'body_bytes_max: 16MiB',
    to: 'body_bytes_max: 16',
    pointer: '/receiver/limits/body_bytes_max',
    says: ['string'],
  },
  {
    what: 'a size of more digits than any machine has',
    file: metricsFile,
    from: 'body_bytes_max: 16MiB',
    to: 'body_bytes_max: 1000000000000000KiB',
    pointer: '/receiver/limits/body_bytes_max',
    says: [],
  },
  {
    what: 'a stream of more bytes than any machine has',
    file: streamsFile,
    from: 'bytes_max: 256MiB',
    to: 'bytes_max: 1000000000000000KiB',
    pointer: '/streams/AUDIT/bytes_max',
    says: [],
  },
  {
    what: 'a window that is neither off nor seconds',
    file: metricsFile,
    from: 'ahead_seconds_max: 3600',
    to: 'ahead_seconds_max: never',
    pointer: '/receiver/time/ahead_seconds_max',
    says: [],
  },
  {
    what: 'a window of negative length',
    file: metricsFile,
    from: 'ahead_seconds_max: 3600',
    to: 'ahead_seconds_max: -1',
    pointer: '/receiver/time/ahead_seconds_max',
    says: [],
  },
  // 2106 less the retention is the last time a span may have: a long one would leave no time that is valid.
  ...['0', '18251', '1.5', 'never', '"7"', '7d'].map((days) => ({
    what: `a retention of ${days} days`,
    file: tracesFile,
    from: 'retention_days: off',
    to: `retention_days: ${days}`,
    pointer: '/transfer/retention_days',
    says: ['must be off, or a whole number of days from 1 to 18250'],
  })),
  {
    what: 'a subject with a blank',
    file: metricsFile,
    from: 'subject: metrics',
    to: 'subject: "my metrics"',
    pointer: '/receiver/publish/subject',
    says: ['pattern'],
  },
  {
    what: 'nothing where a section is',
    file: metricsFile,
    from: 'transfer:\n',
    to: 'transfer:\n#',
    pointer: '/transfer',
    says: ['consumer'],
    line: 2,
  },
  {
    what: 'a stage left out',
    file: metricsFile,
    from: 'decode, authorize, rules',
    to: 'decode, rules',
    pointer: '/receiver/stages',
    says: [
      'not the stages',
      'Write [admit, inflate, decode, authorize, rules, name_columns, encode, publish]',
    ],
  },
  {
    what: 'stages of transfer in another order',
    file: metricsFile,
    from: '[read, validate_time, gather, write, settle]',
    to: '[read, validate_time, gather, settle, write]',
    pointer: '/transfer/stages',
    says: ['not the stages', 'Write [read, validate_time, gather, write, settle]'],
  },
  {
    what: 'a stream that is not there',
    file: metricsFile,
    from: 'stream: METRICS',
    to: 'stream: METRIC',
    pointer: '/receiver/publish/stream',
    says: ['no such stream', 'Use one of METRICS, TRACES, LEDGER, DEADLETTER, AUDIT'],
  },
  {
    what: 'a subject that its stream does not take',
    file: metricsFile,
    from: 'subject: metrics',
    to: 'subject: points',
    pointer: '/receiver/publish/subject',
    says: ['stream METRICS does not take points.>', 'metrics.>'],
  },
  {
    what: 'a consumer that its stream has not',
    file: metricsFile,
    from: 'consumer: questdb',
    to: 'consumer: clickhouse',
    pointer: '/transfer/consumer',
    says: ['stream METRICS has no such consumer', 'Use questdb'],
  },
  {
    what: 'a write that may outlast the ack wait',
    file: metricsFile,
    from: 'store_timeout_ms: 20000',
    to: 'store_timeout_ms: 30000',
    pointer: '/transfer/store_timeout_ms',
    says: ['outlast the ack wait of 30000 ms', 'Make it smaller'],
  },
  {
    what: 'pulls that stall',
    file: metricsFile,
    from: 'pull_bytes_max: 16MiB',
    to: 'pull_bytes_max: 15MiB',
    pointer: '/transfer/pull_bytes_max',
    says: ['stall', 'between 16MiB and 32MiB'],
  },
  {
    what: 'pulls that get the connection cut',
    file: metricsFile,
    from: 'pull_bytes_max: 16MiB',
    to: 'pull_bytes_max: 33MiB',
    pointer: '/transfer/pull_bytes_max',
    says: ['connection cut', 'between 16MiB and 32MiB'],
  },
  {
    what: 'a stream more',
    file: streamsFile,
    from: '  AUDIT:',
    to: '  AUDITS:',
    pointer: '/streams',
    says: ['AUDIT'],
    line: 'above',
  },
  {
    what: 'a retention there is not',
    file: streamsFile,
    from: '    retention: limits\n    bytes_max: 1GiB',
    to: '    retention: interest\n    bytes_max: 1GiB',
    pointer: '/streams/DEADLETTER/retention',
    says: ['Use one of ["workqueue","limits"]'],
  },
  {
    what: 'two replicas',
    file: streamsFile,
    from: 'replicas: 1\n  AUDIT',
    to: 'replicas: 2\n  AUDIT',
    pointer: '/streams/DEADLETTER/replicas',
    says: ['Use one of [1,3,5]'],
  },
  {
    what: 'a consumer there is not',
    file: streamsFile,
    from: 'name: ledger',
    to: 'name: leger',
    pointer: '/streams/LEDGER/consumer/name',
    says: ['Use one of ["questdb","clickhouse","ledger"]'],
  },
  {
    what: 'a subject in capitals',
    file: streamsFile,
    from: '[audit.>]',
    to: '[Audit.>]',
    pointer: '/streams/AUDIT/subjects/0',
    says: ['pattern'],
  },
  {
    what: 'no subjects',
    file: streamsFile,
    from: '[audit.>]',
    to: '[]',
    pointer: '/streams/AUDIT/subjects',
    says: ['fewer than 1'],
  },
  {
    what: 'a stream without a budget',
    file: streamsFile,
    from: 'bytes_max: 256MiB',
    to: 'bytes_max: "0"',
    pointer: '/streams/AUDIT/bytes_max',
    says: ['pattern'],
  },
];

describe('a pipeline file with', () => {
  it.each(broken)(
    '$what stops the start with place, pointer, reason and remedy',
    async ({ file, from, to, pointer, says, line = 0 }) => {
      const folder = await copied();
      const path = join(folder, file);
      const at = await breakFile(path, from, to);
      const message = refusalOf(folder);
      expect(message).toMatch(/: .+\. .+/);
      expect(message).toContain(` ${pointer}:`);
      for (const part of says) expect(message).toContain(part);
      expect(message.startsWith(`${path}:`)).toBe(true);
      const shown = Number(/^[^:]+:(\d+):\d+ /.exec(message)?.[1]);
      if (line === 'above') expect(shown).toBeLessThan(at);
      else expect(shown).toBe(at + line);
    },
  );

  // The stream would take the last try of a publish for a new message.
  it('tries of a publish after the duplicate window stops the start', async () => {
    const folder = await copied();
    const path = join(folder, streamsFile);
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replaceAll('duplicate_window_seconds: 300', 'duplicate_window_seconds: 10'));
    const message = refusalOf(folder);
    expect(message.startsWith(`${join(folder, metricsFile)}:`)).toBe(true);
    expect(message).toContain(' /receiver/publish/deadline_ms: the last try of a publish');
    await writeFile(path, text.replaceAll('duplicate_window_seconds: 300', 'duplicate_window_seconds: 11'));
    loadPipelines(folder, schemas);
  });

  it.each([
    ['what is no YAML', 'pipeline: [', ':1:'],
    ['a key twice', 'pipeline: metrics\npipeline: metrics\n', ':2:'],
    ['nothing', '', ':1:'],
  ])('%s stops the start with its line', async (_, text, line) => {
    const folder = await copied();
    await writeFile(join(folder, metricsFile), text);
    expect(refusalOf(folder)).toContain(`${join(folder, metricsFile)}${line}`);
  });
});

describe('the pipelines folder', () => {
  it('may hold no file that nothing reads', async () => {
    const folder = await copied();
    await writeFile(join(folder, 'metric.yaml'), 'pipeline: metrics\n');
    expect(refusalOf(folder)).toContain(
      `${join(folder, 'metric.yaml')}: no part of the program reads this file. Remove it`,
    );
  });

  it.each([metricsFile, streamsFile])('must hold %s', async (file) => {
    const folder = await copied();
    await rm(join(folder, file));
    expect(refusalOf(folder)).toContain(`${join(folder, file)}: cannot be read`);
  });

  it('must be there', async () => {
    const folder = join(await tempFolder(), 'none');
    expect(refusalOf(folder)).toContain(folder);
  });
});

// A keyword that the checker does not know is a rule that nobody enforces.
describe('a schema', () => {
  it.each([
    ['with an unknown keyword', '"minItems": 1', '"minItem": 1'],
    ['that is no JSON', '"type": "object"', '"type" "object"'],
    ['with an unknown type', '"type": "integer", "minimum": 2', '"type": "int", "minimum": 2'],
  ])('%s stops the start', async (_, from, to) => {
    const folder = join(await tempFolder(), 'schemas');
    await cp(schemas, folder, { recursive: true });
    const file = join(folder, 'streams.schema.json');
    const text = await readFile(file, 'utf8');
    expect(text).toContain(from);
    await writeFile(file, text.replace(from, to));
    expect(refusalOf(join(root, 'pipelines'), folder)).toContain(`${file}: the schema cannot be used`);
  });
});
