import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildCollector, buildTelegraf, peerVersions } from '../../bench/peers/builds.ts';
import { buildJava, clientsFolder, installNpm, missingTool, preparation } from '../support/clients/builds.ts';
import { createCli } from '../support/clients/cli.ts';
import { pauseBus } from '../support/clients/suite.ts';
import { attribute } from '../support/otlp/trace-cases.ts';
import { takePorts } from '../support/stack/ports.ts';
import { type Application, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

// The set-up snippets whose programs have to be built first, as `tidemark snippet` prints them. Those that need nothing but a
// runtime are run by the engine tests.

const run = promisify(execFile);

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ traces: true });
});
afterAll(() => stack?.stop());

const cli = createCli(() => ({ PATH: process.env['PATH'], ...stack.env }));

/** A folder with a snippet in a file, to the letter. */
const written = async (id: number, name: string, file: string): Promise<string> => {
  const folder = join(stack.folder, `snippet-${file}`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, file), await cli.text(`snippet ${id} --for ${name} --token`));
  return folder;
};

/** Waits until the application has spans, and answers name and service of each. */
const storedSpans = ({ app_id: id }: Application): Promise<Record<string, unknown>[]> =>
  waitFor('the span is stored', 60_000, async () => {
    const rows = await stack.spansQuery(
      `SELECT SpanName, ServiceName FROM otel.otel_traces WHERE AppId = ${id}`,
    );
    return rows.length > 0 && rows;
  });

const order = [{ SpanName: 'order', ServiceName: 'shop' }];

/** A program that ends with the test; what it wrote. */
const started = (program: string, args: readonly string[]): { child: ChildProcess; log: () => string } => {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      log += chunk.toString();
    });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, log: () => log };
};

/** A row of a log record, or of a data point, of the snippets. */
const rowOf = {
  logs: { table: 'otel_logs', column: 'Body', value: 'the order is late' },
  metrics: { table: 'otel_metrics_sum', column: 'MetricName', value: 'orders' },
} as const;
type Signal = keyof typeof rowOf;

const expectRow = async ({ app_id: id }: Application, signal: Signal): Promise<void> => {
  const { table, column, value } = rowOf[signal];
  const rows = await waitFor('the row is stored', 60_000, async () => {
    const stored = await stack.spansQuery(
      `SELECT ${column}, ServiceName FROM otel.${table} WHERE AppId = ${id}`,
    );
    return stored.length > 0 && stored;
  });
  expect(rows).toEqual([{ [column]: value, ServiceName: 'shop' }]);
};

const goOf = async (id: number, name: string): Promise<void> => {
  const folder = await written(id, name, `${name}.go`);
  // The module of the Go client pins the same packages.
  for (const file of ['go.mod', 'go.sum']) await cp(join(clientsFolder, 'go', file), join(folder, file));
  await run('go', ['run', '-mod=readonly', '.'], { cwd: folder });
};

const noGo = await missingTool('go');
const jars = await preparation(() => buildJava('java'), await missingTool('java', 'javac', 'mvn'));
const noNpm = await missingTool('npm');
const npm = {
  logs: await preparation(() => installNpm('js-logs'), noNpm),
  metrics: await preparation(() => installNpm('js-metrics'), noNpm),
};
const collector = await preparation(buildCollector, noGo);
const telegraf = await preparation(buildTelegraf, noGo);

/** The Collector with the configuration of the snippet, and a receiver and a folder of the test. */
const collectorFor = async (application: Application) => {
  const folder = await written(application.app_id, 'collector', 'collector.yaml');
  const [port] = await takePorts(1);
  const own = `extensions: { file_storage/tidemark: { directory: "${join(folder, `queue-${application.app_id}`)}" } }
receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:${port}" } } } }
service: { telemetry: { metrics: { level: none } } }\n`;
  await writeFile(join(folder, 'own.yaml'), own);
  const program = 'path' in collector ? collector.path : '';
  const files = ['collector.yaml', 'own.yaml'].flatMap((file) => ['--config', join(folder, file)]);
  const resource = { attributes: [attribute('service.name', 'shop')] };
  const send = async (name: string): Promise<boolean> => {
    const at = `${Date.now()}000000`;
    const ids = { traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') };
    const spans = [{ ...ids, name, kind: 2, startTimeUnixNano: at, endTimeUnixNano: at }];
    const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] });
    const headers = { 'Content-Type': 'application/json' };
    return (await fetch(`http://127.0.0.1:${port}/v1/traces`, { method: 'POST', headers, body })).ok;
  };
  let running: ReturnType<typeof started> | undefined;
  return {
    send,
    start: () => {
      running = started(program, files);
      return running;
    },
    accepted: () =>
      waitFor('the Collector takes a span', 60_000, () => {
        if (running !== undefined && running.child.exitCode !== null) throw new Error(running.log());
        return send('first').catch(() => false);
      }),
  };
};

const endOf = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
};

/** Whether the receiver has a request without an answer. */
const holdsBytes = async (): Promise<boolean> => {
  const text = (await stack.ingress[0]?.metrics()) ?? '';
  return Number(/^tidemark_ingress_bytes_in_flight\S* (\d+)/m.exec(text)?.[1]) > 0;
};

/** What runs Telegraf with the output of the snippet, once over these lines, and returns its log. */
const telegrafFor = async (id: number, lines: readonly string[]): Promise<() => Promise<string>> => {
  const folder = await written(id, 'telegraf', 'telegraf.conf');
  const metrics = join(folder, 'metrics.influx');
  await writeFile(metrics, `${lines.join('\n')}\n`);
  const inputs = `[agent]\n  omit_hostname = true\n[[inputs.file]]\n  files = ["${metrics}"]\n  data_format = "influx"\n`;
  await writeFile(join(folder, 'inputs.conf'), inputs);
  const program = 'path' in telegraf ? telegraf.path : '';
  const files = ['inputs.conf', 'telegraf.conf'].flatMap((file) => ['--config', join(folder, file)]);
  return async () => {
    const { stdout, stderr } = await run(program, [...files, '--once']);
    return `${stdout}${stderr}`;
  };
};

describe('the set-up snippet', () => {
  it.skipIf(noGo !== undefined)('for spans by Go stores a span', async () => {
    const application = await stack.createApplication('go');
    await goOf(application.app_id, 'go');
    expect(await storedSpans(application)).toEqual(order);
  });

  it.skipIf(noGo !== undefined).each(['logs', 'metrics'] as const)(
    'for %s by Go stores a row',
    async (signal) => {
      const application = await stack.createApplication(`go ${signal}`);
      await goOf(application.app_id, `go-${signal}`);
      await expectRow(application, signal);
    },
  );

  it.skipIf('why' in jars).each([
    ['logs', 'Records.java'],
    ['metrics', 'Points.java'],
  ] as const)('for %s by Java stores a row', async (signal, file) => {
    const application = await stack.createApplication(`java ${signal}`);
    const folder = await written(application.app_id, `java-${signal}`, file);
    await run('java', ['-cp', join('path' in jars ? jars.path : '', '*'), file], { cwd: folder });
    await expectRow(application, signal);
  });

  it.for(['logs', 'metrics'] as const)(
    'for %s by JavaScript stores a row, and prints that it was refused',
    async (signal, { skip }) => {
      const packages = npm[signal];
      if ('why' in packages) skip(packages.why);
      const application = await stack.createApplication(`javascript ${signal}`);
      const folder = await written(application.app_id, `javascript-${signal}`, `${signal}.mjs`);
      const modules = 'path' in packages ? packages.path : '';
      await symlink(join(modules, 'node_modules'), join(folder, 'node_modules'));
      await run(process.execPath, [`${signal}.mjs`], { cwd: folder });
      await expectRow(application, signal);
      // With a wrong token it ends as with a right one: what it prints is all that its user has.
      const text = await readFile(join(folder, `${signal}.mjs`), 'utf8');
      await writeFile(join(folder, 'wrong.mjs'), text.replace(application.token, 'f'.repeat(32)));
      const { stdout, stderr } = await run(process.execPath, ['wrong.mjs'], { cwd: folder });
      expect(`${stdout}${stderr}`).toContain('Unauthorized');
    },
  );

  it.skipIf('why' in jars)('for spans by Java stores a span', async () => {
    const application = await stack.createApplication('java');
    const folder = await written(application.app_id, 'java', 'Spans.java');
    const classPath = join('path' in jars ? jars.path : '', '*');
    await run('java', ['-cp', classPath, 'Spans.java'], { cwd: folder });
    expect(await storedSpans(application)).toEqual(order);
  });

  it.skipIf('why' in collector)(
    `the configuration for the Collector ${peerVersions.collector} passes on what its receiver gets, without a warning`,
    async () => {
      const application = await stack.createApplication('collector');
      const { start, accepted, send } = await collectorFor(application);
      const { log } = start();
      await accepted();
      expect(await send('order')).toBe(true);
      const rows = await waitFor('the span is stored', 60_000, async () => {
        const stored = await storedSpans(application);
        return stored.length === 2 && stored;
      });
      expect(rows).toContainEqual(order[0]);
      expect(log()).not.toMatch(/\t(?:warn|error)\t/);
    },
  );

  it.skipIf('why' in collector).each(['SIGKILL', 'SIGTERM'] as const)(
    `the configuration for the Collector ${peerVersions.collector} stores once each span that it accepted before its end by %s`,
    async (signal) => {
      const application = await stack.createApplication(`collector ${signal}`);
      const { start, accepted, send } = await collectorFor(application);
      const sendAll = async (from: number, to: number): Promise<void> => {
        const names = Array.from({ length: to - from }, (_, index) => `span ${from + index}`);
        expect(await Promise.all(names.map(send))).toEqual(names.map(() => true));
      };
      const first = start();
      await accepted();
      await pauseBus({ stack });
      await sendAll(0, 20);
      await waitFor('requests at the receiver', 60_000, holdsBytes);
      await endOf(first.child, signal);
      const second = start();
      stack.engines.nats.resume();
      await stack.ready();
      await accepted();
      // Behind the others in the queue: once they are stored, each of the others was sent again.
      await sendAll(20, 40);
      const counted = async () =>
        stack.spansQuery(
          `SELECT toUInt32(count()) AS rows, toUInt32(uniqExact(SpanName)) AS spans FROM otel.otel_traces WHERE AppId = ${application.app_id} AND SpanName LIKE 'span %'`,
        );
      await waitFor('all are stored', 60_000, async () => (await counted())[0]?.['spans'] === 40);
      await endOf(second.child, 'SIGTERM');
      await stack.waitForEmptyStream('TRACES');
      expect(await counted(), second.log()).toEqual([{ rows: 40, spans: 40 }]);
    },
  );

  it.skipIf('why' in telegraf)(
    `the output for Telegraf ${peerVersions.telegraf} pushes every metric that has a number, without its texts and truth values, and no other`,
    async () => {
      const report = await stack.createReport('telegraf');
      const id = report.data_source.mon_data_id;
      const at = `${Date.now()}000000`;
      const push = await telegrafFor(id, [
        `cpu,host=edge-1,module=db cpu_load=10.5,procs=3i,state="up",ok=true ${at}`,
        `cpu,host=edge-2,module=web cpu_load=11 ${at}`,
        `only_text,host=edge-1 state="up" ${at}`,
        `only_truth,host=edge-1 ok=true ${at}`,
      ]);
      expect(await push()).not.toMatch(/ E! /);
      await stack.waitForRows(report.result_table.table_id, 2);
      const { dataset } = await stack.query(
        `SELECT target, host, module, measurement, cpu_load, procs FROM "${report.result_table.table_id}" ORDER BY target`,
      );
      expect(dataset).toEqual([
        ['edge-1', 'edge-1', 'db', 'cpu', 10.5, 3],
        ['edge-2', 'edge-2', 'web', 'cpu', 11, null],
      ]);
      const outcomes = await waitFor('the outcomes are stored', 60_000, async () => {
        const stored = await stack.spansQuery(
          `SELECT toUInt32(sum(received)) AS items FROM otel.ingest_outcomes FINAL WHERE data_id = ${id} HAVING items > 0`,
        );
        return stored.length > 0 && stored;
      });
      expect(outcomes).toEqual([{ items: 2 }]);
    },
  );

  it.skipIf('why' in telegraf)(
    `the output for Telegraf ${peerVersions.telegraf} waits for the answer of a receiver whose NATS hangs for 6 s`,
    async () => {
      const report = await stack.createReport('telegraf, hanging');
      const push = await telegrafFor(report.data_source.mon_data_id, [
        `cpu,host=edge-1 cpu_load=10.5 ${Date.now()}000000`,
      ]);
      // The first push takes the columns of its names, for which NATS has to answer.
      expect(await push()).not.toMatch(/ E! /);
      await pauseBus({ stack });
      const pushed = push();
      await waitFor('the push at the receiver', 60_000, holdsBytes);
      await delay(6_000);
      stack.engines.nats.resume();
      expect(await pushed).not.toMatch(/ E! /);
      await stack.ready();
      await stack.waitForRows(report.result_table.table_id, 2);
    },
  );
});
