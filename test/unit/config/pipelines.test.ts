import { cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { pipelineJsonSchemas } from '../../../src/config/pipeline-files.ts';
import { loadPipelines, retentionIn } from '../../../src/config/pipelines.ts';
import { parseYamlFile } from '../../../src/config/yaml-file.ts';
import { Fault } from '../../../src/model/fault.ts';
import {
  broken,
  ledgerFile,
  metricsFile,
  streamsFile,
  tracesFile,
} from '../../support/deploy/broken-pipelines.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const root = resolve(import.meta.dirname, '../../..');
const schemas = join(root, 'schemas');

/** A copy of the shipped pipelines to be broken. */
const copied = async (): Promise<string> => {
  const folder = join(await tempFolder(), 'pipelines');
  await cp(join(root, 'pipelines'), folder, { recursive: true });
  return folder;
};

const refusalOf = (pipelinesFolder: string): string => {
  try {
    loadPipelines(pipelinesFolder);
  } catch (error) {
    if (error instanceof Fault && error.kind === 'permanent' && error.code === 'config_invalid')
      return error.message;
    throw error;
  }
  throw new Error('the pipelines were taken');
};

/** Replaces the one occurrence of `from` and returns its line. */
const breakFile = async (file: string, from: string, to: string): Promise<number> => {
  const text = await readFile(file, 'utf8');
  const [before = '', after, ...more] = text.split(from);
  if (after === undefined || more.length > 0) throw new Error(`${from} does not stand once in ${file}`);
  await writeFile(file, before + to + after);
  return before.split('\n').length;
};

describe('the shipped pipelines', () => {
  it('load, and have the values that are documented', () => {
    const { metrics, streams } = loadPipelines(join(root, 'pipelines'));
    expect(metrics.limits).toEqual({
      bodyBytesMax: 16 * 2 ** 20,
      inflatedBytesMax: 32 * 2 ** 20,
      inflateRatioMax: 600,
      pointsMax: 50_000,
      elementsMax: 4_000_000,
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
    expect([metrics.writeIntervalMs, metrics.writeIntervalMsMax]).toEqual([100, 600]);
    expect(metrics.storeTimeoutMs).toBeLessThan(metrics.consumer.ackWaitMs);
    const retention = Object.fromEntries(streams.map(({ name, retention: kept }) => [name, kept]));
    expect(retention).toEqual({
      METRICS: 'workqueue',
      TRACES: 'workqueue',
      LOGS: 'workqueue',
      OTEL_METRICS: 'workqueue',
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
      ['inflate_ratio_max: 600', 'inflate_ratio_max: 20'],
      ['elements_max: 4000000', 'elements_max: 5000'],
      ['points_max: 50000', 'points_max: 3'],
      ['metric_columns_max: 512', 'metric_columns_max: 4'],
      ['dimension_columns_max: 64', 'dimension_columns_max: 5'],
      ['ahead_seconds_max: 3600', 'ahead_seconds_max: off'],
      ['age_seconds_max: off', 'age_seconds_max: 60'],
      ['shards: 1', 'shards: 6'],
      ['deadline_ms: 7500', 'deadline_ms: 700'],
      ['away_ms: 1500', 'away_ms: 8'],
      ['pull_bytes_max: 16MiB', 'pull_bytes_max: 17MiB'],
      ['rows_per_write_max: 200000', 'rows_per_write_max: 9'],
      ['write_interval_ms: 100', 'write_interval_ms: 7'],
      ['store_timeout_ms: 20000', 'store_timeout_ms: 1000'],
    ] as const) {
      await breakFile(file, from, to);
    }
    await breakFile(join(folder, 'streams.yaml'), 'bytes_max: 256MiB', 'bytes_max: 1MiB');
    const { metrics, streams } = loadPipelines(folder);
    expect(metrics).toMatchObject({
      limits: {
        ...{ bodyBytesMax: 1024, inflatedBytesMax: 2048, inflateRatioMax: 20, elementsMax: 5000 },
        ...{ pointsMax: 3, metricsMax: 4, dimensionsMax: 5 },
      },
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

  // The error for another text allows digits for bytes, which YAML reads as a number.
  it('take a size as a number of bytes', async () => {
    const folder = await copied();
    await breakFile(join(folder, metricsFile), 'body_bytes_max: 16MiB', 'body_bytes_max: 16777216');
    await breakFile(join(folder, metricsFile), 'pull_bytes_max: 16MiB', 'pull_bytes_max: 17825792');
    const { metrics } = loadPipelines(folder);
    expect([metrics.limits.bodyBytesMax, metrics.pullBytesMax]).toEqual([16 * 2 ** 20, 17 * 2 ** 20]);
  });

  it('of outcomes are read, too', async () => {
    const shipped = loadPipelines(join(root, 'pipelines')).ledger;
    expect(shipped).toMatchObject({
      consumer: { name: 'ledger', stream: 'LEDGER' },
      writeIntervalMs: 5_000,
      storeTimeoutMs: 20_000,
      drainMs: 5_000,
      breaker: { inARowMax: 1_000, shareMax: 0.2, shareItemsMin: 10_000, pauseMs: 60_000 },
    });
    const folder = await copied();
    const file = join(folder, ledgerFile);
    for (const [from, to] of [
      ['pull_bytes_max: 16MiB', 'pull_bytes_max: 17MiB'],
      ['rows_per_write_max: 50000', 'rows_per_write_max: 9'],
      ['write_interval_ms: 5000', 'write_interval_ms: 7'],
      ['store_timeout_ms: 20000', 'store_timeout_ms: 900'],
      ['drain_ms: 5000', 'drain_ms: 8'],
      ['dead_letters_in_a_row_max: 1000', 'dead_letters_in_a_row_max: 5'],
    ] as const) {
      await breakFile(file, from, to);
    }
    expect(loadPipelines(folder).ledger).toMatchObject({
      pullBytesMax: 17 * 2 ** 20,
      rowsPerWriteMax: 9,
      writeIntervalMs: 7,
      storeTimeoutMs: 900,
      drainMs: 8,
      breaker: { inARowMax: 5 },
    });
  });

  it('keep spans, log records and data points without end unless they set a number of days', async () => {
    expect(retentionIn(loadPipelines(join(root, 'pipelines')))).toEqual({
      traces: undefined,
      logs: undefined,
      otel_metrics: undefined,
    });
    const folder = await copied();
    await breakFile(join(folder, tracesFile), 'retention_days: off', 'retention_days: 30');
    await breakFile(join(folder, 'logs.yaml'), 'retention_days: off', 'retention_days: 7');
    await breakFile(join(folder, 'otel_metrics.yaml'), 'retention_days: off', 'retention_days: 9');
    expect(retentionIn(loadPipelines(folder))).toEqual({ traces: 30, logs: 7, otel_metrics: 9 });
  });
});

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

  // OpenTelemetry's exporters give up after 10 s; JavaScript's and Python's after 10 s of all of their tries together.
  it('requests are answered within 8 s, exports in time for a second try, as the shipped files have it', () => {
    const { metrics, traces } = loadPipelines(join(root, 'pipelines'));
    expect([metrics.publish.deadlineMs, traces.publish.deadlineMs]).toEqual([7_500, 5_000]);
  });

  // The stream would take the last try of a publish for a new message.
  it('tries of a publish after the duplicate window stops the start', async () => {
    const folder = await copied();
    const path = join(folder, streamsFile);
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replaceAll('duplicate_window_seconds: 300', 'duplicate_window_seconds: 7'));
    const message = refusalOf(folder);
    expect(message.startsWith(`${join(folder, metricsFile)}:`)).toBe(true);
    expect(message).toContain(' /receiver/publish/deadline_ms: the last retry of a publish');
    await writeFile(path, text.replaceAll('duplicate_window_seconds: 300', 'duplicate_window_seconds: 8'));
    loadPipelines(folder);
  });

  it.each([
    ['what is no YAML', 'pipeline: [', ':1:'],
    ['a key twice', 'pipeline: metrics\npipeline: metrics\n', ':2:'],
    ['an alias without its anchor', 'pipeline: metrics\nreceiver: *none\n', ':2:11'],
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
    expect(refusalOf(folder)).toContain(`${join(folder, 'metric.yaml')}: unknown pipeline file. Remove it`);
  });

  // A mounted ConfigMap has the files as links into a folder beside them.
  it('may be one that Kubernetes mounted, and hold what makes a ConfigMap of it', async () => {
    const folder = await copied();
    const data = join(folder, '..2026_11_23_06_00_00.1');
    await mkdir(data);
    await symlink(data, join(folder, '..data'));
    await rename(join(folder, metricsFile), join(data, metricsFile));
    await symlink(join('..data', metricsFile), join(folder, metricsFile));
    expect(await readdir(folder)).toContain('kustomization.yaml');
    expect(loadPipelines(folder)).toEqual(loadPipelines(join(root, 'pipelines')));
  });

  it.each([metricsFile, streamsFile])('must hold %s', async (file) => {
    const folder = await copied();
    await rm(join(folder, file));
    expect(refusalOf(folder)).toContain(`${join(folder, file)}: cannot be read`);
  });

  // Operators' own files are of the version that they were copied from: an upgrade must not keep the roles from starting.
  it("of a version without logs and data points has the program's own for them, with the replicas of its traces", async () => {
    const folder = await copied();
    for (const name of ['logs.yaml', 'otel_metrics.yaml']) await rm(join(folder, name));
    expect(loadPipelines(folder)).toEqual(loadPipelines(join(root, 'pipelines')));
    const file = join(folder, streamsFile);
    const [before = '', after = ''] = (await readFile(file, 'utf8')).split('  LOGS:\n');
    const rest = after.slice(after.indexOf('  LEDGER:'));
    await writeFile(file, before + rest);
    expect(loadPipelines(folder)).toEqual(loadPipelines(join(root, 'pipelines')));
    await writeFile(file, before.replaceAll('replicas: 1', 'replicas: 3') + rest);
    const { logs, otel_metrics, streams } = loadPipelines(folder);
    expect(streams.map(({ name, replicas }) => [name, replicas])).toEqual([
      ['METRICS', 3],
      ['TRACES', 3],
      ['LOGS', 3],
      ['OTEL_METRICS', 3],
      ['LEDGER', 1],
      ['DEADLETTER', 1],
      ['AUDIT', 1],
    ]);
    expect([logs.guard, otel_metrics.guard]).toEqual(['always', 'always']);
  });

  it('must exist', async () => {
    const folder = join(await tempFolder(), 'none');
    expect(refusalOf(folder)).toContain(folder);
  });
});

// Operators' own files are of the version that they were copied from.
describe('a list of stages, as files of earlier versions have it', () => {
  it('changes nothing, and its place is named in a warning', async () => {
    const folder = await copied();
    const file = join(folder, metricsFile);
    await breakFile(file, '  kind: push', '  kind: push\n  stages: [admit, inflate, decode, authorize]');
    const at = await breakFile(file, '  consumer: questdb', '  consumer: questdb\n  stages: [read, settle]');
    const warnings: string[] = [];
    expect(loadPipelines(folder, undefined, (warning) => warnings.push(warning))).toEqual(
      loadPipelines(join(root, 'pipelines')),
    );
    const places = `${file}:5:11 /receiver/stages, ${file}:${at + 1}:11 /transfer/stages`;
    expect(warnings).toEqual([`${places}: a list of stages has no effect. Delete it`]);
  });

  it('is in none of the shipped files', () => {
    const warnings: string[] = [];
    loadPipelines(join(root, 'pipelines'), undefined, (warning) => warnings.push(warning));
    expect(warnings).toEqual([]);
  });
});

// Editors and other programs read these: they have to allow and refuse what the program does.
describe('schemas/', () => {
  const published = Object.entries(pipelineJsonSchemas());
  const validatorOf = (yamlFile: string) => {
    const name = yamlFile === streamsFile ? 'streams' : `pipeline-${yamlFile.replace('.yaml', '')}`;
    const schema = pipelineJsonSchemas()[`${name}.schema.json`];
    return new Ajv2020({ strict: true }).compile(schema ?? {});
  };
  const files = [streamsFile, metricsFile, tracesFile, 'logs.yaml', ledgerFile];

  it.each(published)('%s says what the program checks', async (name, schema) => {
    const written: unknown = JSON.parse(await readFile(join(schemas, name), 'utf8'));
    expect(written, 'run: make docs').toEqual(schema);
  });

  it.each(files)('allow the shipped %s', (file) => {
    const validate = validatorOf(file);
    validate(parseYamlFile(join(root, 'pipelines', file)).value);
    expect(validate.errors).toBeNull();
  });

  // What the parts of the files demand of each other is no matter of one file's shape.
  it.each(broken.filter(({ isOfShape }) => isOfShape !== false))(
    'refuse $what',
    async ({ file, from, to }) => {
      const folder = await copied();
      await breakFile(join(folder, file), from, to);
      expect(validatorOf(file)(parseYamlFile(join(folder, file)).value)).toBe(false);
    },
  );
});
