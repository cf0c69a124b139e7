import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { missingTool } from '../support/clients/builds.ts';
import {
  type AlarmWatch,
  createAlarmWatch,
  forgetQuestdbMetrics,
  questdbMetricsPort,
} from '../support/deploy/alarm-watch.ts';
import { prometheusPrograms } from '../support/deploy/prometheus.ts';
import { type NodeManagementServer, startNodeManagement } from '../support/metadata/node-management.ts';
import { requestOf, second, spanAt } from '../support/otlp/trace-cases.ts';
import { messagesOf } from '../support/outcomes/books.ts';
import { createPointMessages } from '../support/push/point-messages.ts';
import { bodyOf } from '../support/push/stack.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import { takePorts } from '../support/stack/ports.ts';
import { type Application, type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { limitStream } from '../support/stack/stream-limits.ts';
import { waitFor } from '../support/wait.ts';

const missing = await missingTool('go');
const root = resolve(import.meta.dirname, '../..');

let folder: string;
let stack: Stack;
let bus: Bus;
let watch: AlarmWatch;
let nodes: NodeManagementServer;
let stopNodes: (() => Promise<void>) | undefined;
let report: Report;
let application: Application;

const clickhouse = async (sql: string): Promise<void> => {
  const response = await fetchEngine(`${stack.engines.clickhouse.url}/?query=${encodeURIComponent(sql)}`, {
    method: 'POST',
  });
  if (!response.ok) throw new Error(await response.text());
};

const exportSpans = (count: number): Promise<Response> => {
  const now = BigInt(Date.now()) * 1_000_000n - second;
  const spans = Array.from({ length: count }, (_, index) => spanAt(now, index + 1));
  return fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-MON-TOKEN': application.token },
    body: JSON.stringify(requestOf(spans)),
  });
};

const push = (): Promise<Response> =>
  fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
    method: 'POST',
    body: bodyOf(report, [{ metrics: { cpu: 1 } }]),
  });

/** A push with a wrong token. */
const failOnce = (): Promise<Response> =>
  fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
    method: 'POST',
    body: bodyOf(report, [{ metrics: { cpu: 1 } }], { access_token: 'wrong' }),
  });

const hoursAgo = (hours: number): string => `toDateTime64(now64(3) - INTERVAL ${hours} HOUR, 3, 'UTC')`;

/** Usage of a data id on eight days in a row, the last one more than a day ago. */
const useDaily = (dataId: number): Promise<void> => {
  const rows = Array.from({ length: 8 }, (_, day) => {
    const at = hoursAgo(25 + 24 * day);
    return `(${dataId}, 0, toStartOfMinute(${at}), 1, 1, 1, 1, 1, 1, ${at}, '10.0.0.9', 'job', 1, 'metrics')`;
  });
  return clickhouse(`INSERT INTO otel.ingest_usage VALUES ${rows.join(', ')}`);
};

/** A push with a wrong token now, and its sample in each of the five hours before, too. */
const failHourly = async (): Promise<void> => {
  const { mon_data_id: dataId } = report.data_source;
  const ofSender = `reason = 'unauthorized' AND detail LIKE '%data id ${dataId}'`;
  const count = `SELECT count() AS samples FROM otel.ingest_samples WHERE ${ofSender}`;
  expect((await failOnce()).status).toBe(401);
  await waitFor(
    'its sample',
    60_000,
    async () => Number((await stack.spansQuery(count))[0]?.['samples']) > 0,
  );
  for (const hours of [1, 2, 3, 4, 5])
    await clickhouse(
      `INSERT INTO otel.ingest_samples SELECT * REPLACE (at - INTERVAL ${hours} HOUR AS at, seq + 1000 * ${hours} AS seq)
         FROM (SELECT * FROM otel.ingest_samples WHERE ${ofSender} AND seq < 1000)`,
    );
};

/** Pushes of a message each that no worker takes meanwhile; then `change`, and the worker is back. Answers their sequences. */
const pushedUnseen = async (
  count: number,
  change: (sequences: readonly number[]) => Promise<unknown>,
): Promise<number[]> => {
  await stack.waitForEmptyStream('METRICS');
  await stack.transfer[0]?.kill();
  for (let pushes = 0; pushes < count; pushes++) expect((await push()).status).toBe(200);
  const sequences = (await messagesOf(bus, 'METRICS')).map(({ sequence }) => sequence);
  await change(sequences);
  stack.transfer[0]?.start();
  await stack.transfer[0]?.ready();
  return sequences;
};

/** Does it again and again until `wanted` has come true. */
const during = async (work: () => Promise<unknown>, wanted: Promise<unknown>): Promise<void> => {
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  wanted.then(end, end);
  while (!isOver) {
    await work();
    await new Promise((ended) => setTimeout(ended, 100));
  }
  await wanted;
};

/** A receiver of another version, as an upgrade has for a while. It serves its figures; call the result to end it. */
const startOther = async (opsPort: number): Promise<() => void> => {
  const program = join(folder, 'program');
  for (const part of ['src', 'pipelines', 'schemas'])
    cpSync(join(root, part), join(program, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(program, 'node_modules'));
  const own = readFileSync(join(root, 'package.json'), 'utf8');
  writeFileSync(
    join(program, 'package.json'),
    own.replace(/"version": "[^"]+"/, () => '"version": "0.0.1"'),
  );
  const [push = 0, otlp = 0] = await takePorts(2);
  const child = spawn(process.execPath, [join(program, 'src/main.ts'), 'ingress'], {
    env: {
      PATH: process.env['PATH'],
      ...stack.env,
      TIDEMARK_INGRESS_PUSH_PORT: String(push),
      TIDEMARK_INGRESS_OTLP_PORT: String(otlp),
      TIDEMARK_INGRESS_GRPC_PORT: 'off',
      TIDEMARK_INGRESS_OPS_PORT: String(opsPort),
    },
    stdio: 'ignore',
  });
  return () => child.kill('SIGKILL');
};

describe.skipIf(missing !== undefined)(
  `the alarms of stores, tables and consumers on a running stack, with every window and wait a sixtieth as long ${missing ?? ''}`,
  () => {
    beforeAll(async () => {
      await prometheusPrograms();
      folder = mkdtempSync(join(tmpdir(), 'tidemark-alarms-'));
      nodes = await startNodeManagement((stop) => {
        stopNodes = stop;
      });
      const questdbOps = await questdbMetricsPort();
      // QuestDB suspends a table on command only then.
      process.env['QDB_DEV_MODE_ENABLED'] = 'true';
      stack = await startStack({
        traces: true,
        pipelines: (_file, text) =>
          text
            .replace(/table_wait_seconds: \d+/, 'table_wait_seconds: 12')
            .replace(/dead_letters_in_a_row_max: \d+/, 'dead_letters_in_a_row_max: 20')
            .replace(/pause_seconds: \d+/, 'pause_seconds: 2'),
        env: {
          TIDEMARK_REFRESH_CRON: '*/2 * * * * *',
          TIDEMARK_NODE_MANAGEMENT_URL: nodes.url,
          TIDEMARK_NODE_MANAGEMENT_TOKEN: 'secret',
          TIDEMARK_NODE_MANAGEMENT_HOSTS: '0:11,2:21',
          TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS: '400',
        },
      });
      bus = await connectBus(stack.engines.nats.url, 'test');
      report = await stack.createReport('alarms');
      application = await stack.createApplication('alarms');
      watch = createAlarmWatch(stack, folder, questdbOps);
      await waitFor('both are known', 60_000, async () => (await push()).ok && (await exportSpans(1)).ok);
      await useDaily((await stack.createReport('silent')).data_source.mon_data_id);
      await failHourly();
      // It reads usage when it starts, and then every two minutes.
      await stack.metadata.stop();
      stack.metadata.start();
      await stack.metadata.ready();
      await watch.restart({
        TidemarkTableWaits: [['> 180', '> 2']],
        TidemarkQuestdbBehind: [['> 1000', '> 2']],
        TidemarkFiguresOld: [['> 600', '> 10']],
        TidemarkAccountNotKnown: [['> 300', '> 5']],
      });
    }, 300_000);

    afterAll(async () => {
      await watch?.stop();
      await bus?.close().catch(() => undefined);
      await stack?.stop();
      await stopNodes?.();
      rmSync(folder, { recursive: true, force: true });
      forgetQuestdbMetrics();
      delete process.env['QDB_DEV_MODE_ENABLED'];
    });

    it('fires for a store that refuses everything', async () => {
      await clickhouse("ALTER TABLE otel.otel_traces ADD CONSTRAINT nothing CHECK SpanName = ''");
      expect((await exportSpans(30)).status).toBe(200);
      await watch.fires('TidemarkBreakerOpen');
      await clickhouse('ALTER TABLE otel.otel_traces DROP CONSTRAINT nothing');
      // The breaker closes with a batch that is stored, so something has to arrive.
      await during(() => exportSpans(1), watch.ends('TidemarkBreakerOpen'));
    }, 250_000);

    it('fires for dead letters that find no room', async () => {
      const { state } = await (await bus.manager()).streams.info('DEADLETTER');
      const restore = await limitStream(bus, 'DEADLETTER', state.bytes + 10);
      await clickhouse('ALTER TABLE otel.otel_traces ADD CONSTRAINT few CHECK cityHash64(SpanId) % 8 != 0');
      expect((await exportSpans(16)).status).toBe(200);
      await watch.fires('TidemarkDeadLettersHeld');
      await restore();
      await clickhouse('ALTER TABLE otel.otel_traces DROP CONSTRAINT few');
      await watch.ends('TidemarkDeadLettersHeld');
    }, 250_000);

    it('fires for a table that is missing: while its points wait, and once they are dead-lettered', async () => {
      const pushTo = createPointMessages(bus);
      await pushTo(2_000_000, 1);
      // Others are stored meanwhile: it is the table, not QuestDB.
      await during(push, watch.fires('TidemarkTableWaits', 'TidemarkTableSetAside'));
    }, 150_000);

    // Metadata resumes it: it is suspended again and again here.
    it('fires for a table that QuestDB does not apply rows to', async () => {
      const suspend = `ALTER TABLE "${report.result_table.table_id}" SUSPEND WAL WITH 'DISK FULL', 'no room'`;
      await during(
        () => Promise.all([stack.query(suspend), push()]),
        watch.fires('TidemarkTableSuspended', 'TidemarkQuestdbBehind'),
      );
      await watch.ends('TidemarkTableSuspended', 'TidemarkQuestdbBehind');
    }, 250_000);

    it('fires for an error of a store that is not known', async () => {
      await clickhouse("ALTER TABLE otel.otel_traces ADD CONSTRAINT odd CHECK throwIf(SpanName != '') = 0");
      expect((await exportSpans(3)).status).toBe(200);
      await watch.fires('TidemarkStoreAnswersUnknown');
      await clickhouse('ALTER TABLE otel.otel_traces DROP CONSTRAINT odd');
    }, 250_000);

    it('fires for messages that a consumer was moved past, until it is moved back', async () => {
      expect(await watch.firing()).not.toContain('TidemarkUnbalanced');
      const { consumers } = await bus.manager();
      const sequences = await pushedUnseen(5, (all) => consumers.reset('METRICS', 'questdb', all[3]));
      await watch.fires('TidemarkStuckMessages', 'TidemarkUnbalanced');
      await consumers.reset('METRICS', 'questdb', sequences[0]);
      await watch.ends('TidemarkStuckMessages', 'TidemarkUnbalanced');
    }, 300_000);

    it('fires for a loss, until it is closed', async () => {
      const { streams } = await bus.manager();
      await pushedUnseen(5, async ([, lost = 0]) => streams.deleteMessage('METRICS', lost));
      await watch.fires('TidemarkUnbalanced');
      const { mon_data_id: data_id } = report.data_source;
      const body = { data_id, reason: 'deleted by a test' };
      expect(await stack.api('POST', '/api/v1/account/differences/close', body)).toMatchObject({
        status: 200,
      });
      await watch.ends('TidemarkUnbalanced');
    }, 300_000);

    // Outcomes have all of LEDGER, and samples only its first half.
    it('fires for samples that LEDGER has no room for', async () => {
      await pushedUnseen(5, async () => {
        const { streams } = await bus.manager();
        const bytes = await waitFor('LEDGER holds lines', 60_000, async () => {
          const { state } = await streams.info('LEDGER');
          return state.bytes > 0 && state.bytes;
        });
        const restore = await limitStream(bus, 'LEDGER', Math.ceil(bytes * 1.5));
        await during(failOnce, watch.fires('TidemarkLedgerRowsLost')).finally(restore);
      });
    }, 300_000);

    it('fires for messages that workers take and never acknowledge, as those do that die', async () => {
      const consumer = await bus.js.consumers.get('METRICS', 'questdb');
      const takeAndDie = async (): Promise<void> => {
        const taken = Array.from({ length: 10 }, () => consumer.next({ expires: 1_000 }));
        for (let pushes = 0; pushes < 20; pushes++) await push();
        await Promise.all(taken);
      };
      await during(takeAndDie, watch.fires('TidemarkRedeliveries'));
      await stack.waitForEmptyStream('METRICS');
      await watch.ends('TidemarkRedeliveries');
    }, 250_000);

    it('fires for a producer that is silent and a sender that fails', async () => {
      await watch.fires('TidemarkProducerSilent', 'TidemarkSenderUnauthorized');
    }, 250_000);

    it('fires for a node management that refuses', async () => {
      nodes.behave(() => 'error');
      await stack.createReport('refused');
      await watch.fires('TidemarkRefreshFails');
      nodes.behave(() => undefined);
      await watch.ends('TidemarkRefreshFails');
    }, 250_000);

    it('fires for figures and accounts that are not known without ClickHouse', async () => {
      await stack.engines.clickhouse.kill();
      await watch.fires('TidemarkFiguresOld', 'TidemarkAccountNotKnown');
      await stack.engines.clickhouse.start();
      await watch.ends('TidemarkFiguresOld', 'TidemarkAccountNotKnown');
    }, 250_000);

    it('fires for a rollout that does not end', async () => {
      const [port = 0] = await takePorts(1);
      const end = await startOther(port);
      try {
        await watch.restart({}, { 'tidemark-other': port });
        await watch.fires('TidemarkMixedVersions');
      } finally {
        end();
      }
    }, 250_000);
  },
);
