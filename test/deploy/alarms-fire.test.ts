import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { publishConfirmed } from '../../src/bus/outbox.ts';
import { missingTool } from '../support/clients/builds.ts';
import { runCli } from '../support/clients/cli.ts';
import {
  type AlarmWatch,
  createAlarmWatch,
  forgetQuestdbMetrics,
  questdbMetricsPort,
} from '../support/deploy/alarm-watch.ts';
import { alarms } from '../support/deploy/dashboards.ts';
import { type Prometheus, prometheusPrograms } from '../support/deploy/prometheus.ts';
import type { Lowered } from '../support/deploy/short-rules.ts';
import { makeAuthority, makeCertificate } from '../support/stack/certificates.ts';
import { readyzOf } from '../support/stack/readiness.ts';
import { type Application, type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

const missing = await missingTool('go', 'openssl');

/** Thresholds that a test of minutes on a healthy machine cannot reach: the figures are real, and their bound is lower. */
const lowered: Lowered = {
  // Three starts of a process take longer than half of a minute.
  TidemarkRestarts: [['[30m]', '[3h]']],
  TidemarkClockSkew: [['> 5', '> 0.000001']],
  TidemarkLag: [['> 300', '> 5']],
  TidemarkOutageShort: [['600 *', '1e9 *']],
  TidemarkVisibleLate: [['le=~"60(\\\\.0)?"', 'le="0.05"']],
  TidemarkRequestsLate: [['le=~"1(\\\\.0)?"', 'le="0.005"']],
  TidemarkBytesInFlight: [['0.8 *', '0.000001 *']],
  TidemarkEventLoopSlow: [['> 0.5', '> 0.000001']],
  TidemarkMemoryHigh: [['0.85 *', '0.0001 *']],
  TidemarkWritesSlow: [['> 5', '> 0.0001']],
  TidemarkPartsMany: [['0.5 *', '0.00001 *']],
  TidemarkDiskForecast: [['< 7', '< 4000']],
  TidemarkDiskFilling: [['< 0.15', '< 2']],
  TidemarkDiskFull: [['< 0.05', '< 2']],
  TidemarkWatchBlind: [['> 120', '> 8']],
  TidemarkCertificateExpired: [['<= 0', '<= 2 * 86400']],
  TidemarkBackupOld: [['26 * 3600', '20']],
};

const stores = 'test/deploy/alarms-stores.test.ts';
/** What this file does not cause, and where it is caused. */
const notCaused: Readonly<Record<string, string>> = {
  TidemarkMixedVersions: stores,
  TidemarkQuestdbBehind: stores,
  TidemarkTableSuspended: stores,
  TidemarkTableSetAside: stores,
  TidemarkTableWaits: stores,
  TidemarkBreakerOpen: stores,
  TidemarkDeadLettersHeld: stores,
  TidemarkRefreshFails: stores,
  TidemarkAccountNotKnown: stores,
  TidemarkFiguresOld: stores,
  TidemarkStreamCopies: 'test/cluster/replicas.test.ts',
  TidemarkRedeliveries: stores,
  TidemarkStoreAnswersUnknown: stores,
  TidemarkUnbalanced: stores,
  TidemarkStuckMessages: stores,
  TidemarkLedgerRowsLost: stores,
  TidemarkProducerSilent: stores,
  TidemarkSenderUnauthorized: stores,
};

let folder: string;
let stack: Stack;
let bus: Bus;
let report: Report;
let application: Application;
let watch: AlarmWatch;
let query: Prometheus['query'];
const stops: (() => unknown)[] = [];

const post = (port: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${stack.ingress[0]?.ports[port]}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

const push = (access_token: string, data: unknown[]) =>
  post('push', '/v2/push/', { data_id: report.data_source.mon_data_id, access_token, data });

let spans = 0;
const exportSpan = () => {
  const nanos = `${Date.now()}000000`;
  const spanId = String(++spans).padStart(16, '0');
  const span = {
    traceId: spanId.repeat(2),
    spanId,
    name: 'a',
    startTimeUnixNano: nanos,
    endTimeUnixNano: nanos,
  };
  const resourceSpans = [{ scopeSpans: [{ spans: [span] }] }];
  return post('otlp', '/v1/traces', { resourceSpans }, { 'X-MON-TOKEN': application.token });
};

const good = (): Promise<Response> =>
  push(report.data_source.token, [{ metrics: { cpu: 1 }, dimension: { pad: 'x'.repeat(2_000) } }]);

/**
 * Ready, and not more: the message of a newer program, which stays, is named under `degraded` from the moment at which a worker has seen
 * it, so a worker is free of all trouble for a moment after its start alone.
 */
const transferIsReady = (): Promise<unknown> =>
  waitFor('transfer is ready', 180_000, async () => (await readyzOf(stack.transfer[0])).status === 200);

/** Repeats until `stop` resolves; an answer of any kind is fine. */
const repeat = (work: () => Promise<unknown>, pauseMs: number): (() => Promise<void>) => {
  let isOver = false;
  const run = async (): Promise<void> => {
    while (!isOver) {
      await work().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  const running = run();
  return async () => {
    isOver = true;
    await running;
  };
};

/** A push whose body is held back, and whose bytes the receiver holds meanwhile. */
const heldPush = (padding = 0): { end(): void } => {
  const body = JSON.stringify({
    data_id: report.data_source.mon_data_id,
    access_token: report.data_source.token,
    data: [{ metrics: { cpu: 1 }, dimension: { pad: 'x'.repeat(padding) } }],
  });
  const sending = request({
    host: '127.0.0.1',
    port: stack.ingress[0]?.ports['push'],
    path: '/v2/push/',
    method: 'POST',
    headers: { 'Content-Length': Buffer.byteLength(body) },
  });
  sending.on('error', () => undefined).on('response', (response) => response.resume());
  sending.write(body.slice(0, -1));
  return { end: () => sending.end(body.slice(-1)) };
};

describe.skipIf(missing !== undefined)(
  `each alarm on a running stack, with every window and wait a sixtieth as long ${missing ?? ''}`,
  () => {
    let certificate: ReturnType<typeof makeCertificate>;

    beforeAll(async () => {
      await prometheusPrograms();
      folder = mkdtempSync(join(tmpdir(), 'tidemark-alarms-'));
      certificate = makeCertificate(folder, 'receiver', makeAuthority(folder, 'authority'));
      const questdbOps = await questdbMetricsPort();
      stack = await startStack({
        traces: true,
        ingress: 2,
        bytesMax: { METRICS: '4MiB' },
        env: { TIDEMARK_REFRESH_CRON: '*/2 * * * * *' },
        roleEnv: async (role): Promise<Record<string, string>> =>
          role === 'ingress-1'
            ? {
                TIDEMARK_INGRESS_TLS_CERT_FILE: certificate.certFile,
                TIDEMARK_INGRESS_TLS_KEY_FILE: certificate.keyFile,
                TIDEMARK_INGRESS_CONNECTIONS_MAX: '8',
              }
            : {},
      });
      watch = createAlarmWatch(stack, folder, questdbOps);
      bus = await connectBus(stack.engines.nats.url, 'test');
      report = await stack.createReport('alarms');
      application = await stack.createApplication('alarms');
      await waitFor(
        'both are known',
        60_000,
        async () =>
          (await push(report.data_source.token, [{ metrics: { cpu: 1 } }])).ok && (await exportSpan()).ok,
      );
    }, 300_000);

    afterAll(async () => {
      for (const stop of stops.toReversed()) await stop();
      await watch?.stop();
      await bus?.close().catch(() => undefined);
      await stack?.stop();
      rmSync(folder, { recursive: true, force: true });
      forgetQuestdbMetrics();
    });

    it('is quiet on an idle stack, for what would be half an hour', async () => {
      const idle: Lowered = { TidemarkCertificateEnds: [['14 * 86400', '3600']] };
      const prometheus = await watch.restart(idle);
      await waitFor('all is scraped', 60_000, async () => {
        const rows = await prometheus.query('up == 1');
        return rows.length === 5 && !(await watch.firing()).has('TidemarkRoleMissing');
      });
      const until = performance.now() + 30_000;
      const seen = new Set<string>();
      await waitFor('thirty seconds pass', 60_000, async () => {
        for (const name of await watch.firing()) seen.add(name);
        return performance.now() > until;
      });
      query = (await watch.restart(lowered)).query;
      expect([...seen]).toEqual(['TidemarkWatchdog']);
      await watch.fires('TidemarkWatchdog');
    }, 120_000);

    it('fires for what is slow, small, late or near its end', async () => {
      stops.push(repeat(good, 20), repeat(exportSpan, 50));
      stops.push(repeat(() => push('wrong', [{ metrics: { cpu: 1 } }]), 100));
      stops.push(
        repeat(() => push(report.data_source.token, [{ metrics: {} }, { metrics: { cpu: 1 } }]), 50),
      );
      const held = heldPush(50_000);
      stops.push(() => held.end());
      await stack.api('POST', '/api/v1/admin-tokens', {
        name: 'short',
        role: 'viewer',
        expires_at: Math.floor(Date.now() / 1000) + 7_200,
      });
      await watch.fires(
        ...['TidemarkClockSkew', 'TidemarkOutageShort', 'TidemarkVisibleLate', 'TidemarkBytesInFlight'],
        ...['TidemarkEventLoopSlow', 'TidemarkMemoryHigh', 'TidemarkWritesSlow', 'TidemarkPartsMany'],
        ...['TidemarkDiskFilling', 'TidemarkDiskFull', 'TidemarkTokensFail', 'TidemarkDropsMany'],
        'TidemarkDiskForecast',
        ...['TidemarkCertificateEnds', 'TidemarkCertificateExpired', 'TidemarkAdminTokenEnds'],
      );
      held.end();
    }, 150_000);

    it('fires for answers that come late', async () => {
      const late = async (): Promise<void> => {
        const one = heldPush();
        await new Promise((resolve) => setTimeout(resolve, 30));
        one.end();
      };
      const stop = repeat(() => Promise.all(Array.from({ length: 8 }, late)), 5);
      await watch.fires('TidemarkRequestsLate');
      await stop();
    }, 150_000);

    it('fires for exporters over gRPC above the limit of connections', async () => {
      const crowd = async (): Promise<void> => {
        const sockets = Array.from({ length: 12 }, () =>
          connect(stack.ingress[1]?.ports['grpc'] ?? 0, '127.0.0.1').on('error', () => undefined),
        );
        await Promise.race(sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve))));
        for (const socket of sockets) socket.destroy();
      };
      const stop = repeat(crowd, 100);
      await watch.fires('TidemarkConnectionsRefused');
      await stop();
      await watch.ends('TidemarkConnectionsRefused');
    }, 150_000);

    it('fires without a backup, and ends with one', async () => {
      await watch.fires('TidemarkBackupOld');
      const ended = await runCli(['backup', '--streams-only', '--to', join(folder, 'backup')], {
        ...process.env,
        ...stack.env,
      });
      expect(ended).toMatchObject({ code: 0 });
      const [row] = await waitFor('the time of the backup is known', 60_000, async () => {
        const rows = await query('tidemark_backup_last_success_timestamp_seconds > 0');
        return rows.length > 0 ? rows : undefined;
      });
      expect(Number(row?.value[1])).toBeGreaterThan(Date.now() / 1000 - 120);
    }, 150_000);

    it('fires for certificate files that cannot be used', async () => {
      writeFileSync(certificate.certFile, 'no certificate');
      await watch.fires('TidemarkTlsFilesRefused');
      writeFileSync(certificate.certFile, certificate.cert);
      await watch.ends('TidemarkTlsFilesRefused');
    }, 150_000);

    it('fires for the first dead letter, and while it lies there', async () => {
      await publishConfirmed(bus, {
        subject: 'metrics.0',
        messageId: 'garbage',
        payload: Buffer.from('no envelope'),
        version: 1,
      });
      await watch.fires('TidemarkDeadLetters');
      await watch.fires('TidemarkDeadLettersWait');
      await watch.ends('TidemarkDeadLetters');
      expect(await watch.firing()).toContain('TidemarkDeadLettersWait');
    }, 200_000);

    it('fires for a message of a newer program', async () => {
      await publishConfirmed(bus, {
        subject: 'metrics.0',
        messageId: 'newer',
        payload: Buffer.from('of a newer program'),
        version: 99,
      });
      await watch.fires('TidemarkEnvelopeNewer');
    }, 150_000);

    it('fires for a role that is gone, and for the stream that fills', async () => {
      await stack.transfer[0]?.kill();
      await watch.fires('TidemarkRoleGone', 'TidemarkRoleMissing', 'TidemarkNoWorkers', 'TidemarkLag');
      await watch.fires('TidemarkStreamHalfFull', 'TidemarkStreamNearlyFull');
      await watch.fires('TidemarkNotStored', 'TidemarkServerErrors', 'TidemarkServerErrorsSlow');
    }, 300_000);

    it('fires for a process that is started again and again', async () => {
      const isFiring = async (): Promise<boolean> =>
        (await query('ALERTS{alertname="TidemarkRestarts",alertstate="firing"}')).length > 0;
      // The short window is half a minute: where starts are slow, more of them are needed until three lie within it.
      for (let starts = 1; starts <= 3 || (starts <= 10 && !(await isFiring())); starts++) {
        if (starts > 1) await stack.transfer[0]?.kill();
        stack.transfer[0]?.start();
        await transferIsReady();
        await waitFor('it is scraped', 30_000, async () => {
          const rows = await query('up{job="tidemark-transfer"} == 1');
          return rows.length === 1;
        });
      }
      await watch.fires('TidemarkRestarts');
      await watch.ends('TidemarkNotStored', 'TidemarkRoleGone', 'TidemarkRoleMissing');
    }, 300_000);

    it('fires for a stream that will be full soon', async () => {
      await stack.transfer[0]?.kill();
      await watch.fires('TidemarkStreamFullSoon');
      stack.transfer[0]?.start();
      await transferIsReady();
    }, 200_000);

    it('fires for databases that are gone', async () => {
      await stack.engines.questdb.kill();
      await stack.engines.clickhouse.kill();
      await watch.fires(
        'TidemarkEngineGone',
        'TidemarkWritesFail',
        'TidemarkDegraded',
        'TidemarkPartlyDegraded',
      );
      await stack.engines.clickhouse.start();
      await stack.engines.questdb.start();
      await watch.ends('TidemarkEngineGone', 'TidemarkWritesFail');
    }, 300_000);

    // Metadata makes it again within seconds, unless another stream has its subjects.
    it('fires for a stream that is missing, until metadata can make it again', async () => {
      const { streams } = await bus.manager();
      await waitFor('another stream has the subjects of METRICS', 30_000, async () => {
        await streams.delete('METRICS').catch(() => undefined);
        await streams.add({ name: 'OTHER', subjects: ['metrics.>'] });
        return true;
      });
      await watch.fires('TidemarkStreamMissing');
      await streams.delete('OTHER');
      await watch.ends('TidemarkStreamMissing');
    }, 200_000);

    it('fires for a NATS that is gone', async () => {
      await stack.engines.nats.kill();
      await stack.ingress[0]?.kill();
      stack.ingress[0]?.start();
      await watch.fires('TidemarkWatchBlind', 'TidemarkNotReady', 'TidemarkRefreshStale');
    }, 200_000);

    it('is each caused above, or not for a reason', () => {
      const names = alarms().map(({ alert }) => alert);
      expect(names.filter((name) => !watch.caused.has(name)).toSorted()).toEqual(
        Object.keys(notCaused).toSorted(),
      );
    });
  },
);
