import { type Stack, startStack } from '../../test/support/stack/stack.ts';
import type { CollectorQueue } from './collector.ts';
import { collectorCommand, collectorMeaning } from './collector.ts';
import { emptyPeerPoints, emptyPeerSpans, type Programs, peerSpans, withPeer } from './contests.ts';
import { measureKill, ownVictim, pointsPlace, spansPlace } from './kills.ts';
import { type TelegrafBuffer, telegrafCommand, telegrafMeaning, telegrafTable } from './telegraf.ts';
import type { KillRow } from './verdict.ts';

const settledAtOnce = async (): Promise<void> => {};

const killCollector = (stack: Stack, programs: Programs, queue: CollectorQueue): Promise<KillRow> =>
  withPeer(
    (port, folder) =>
      collectorCommand(
        programs.collector,
        { queue, isGrpc: false },
        port,
        stack.engines.clickhouse.url,
        folder,
      ),
    stack,
    async (peer, port) => {
      await emptyPeerSpans(stack);
      return measureKill({
        ...spansPlace(stack, `http://127.0.0.1:${port}/v1/traces`, peerSpans, '1', 'protobuf', {}),
        killed: `Collector, ${queue.replace('_', ', ')} queue`,
        ok_means: collectorMeaning[queue],
        kill: () => peer.kill(),
        restart: () => peer.start(),
        settled: settledAtOnce,
      });
    },
  );

const killTelegraf = (stack: Stack, programs: Programs, buffer: TelegrafBuffer): Promise<KillRow> =>
  withPeer(
    (port, folder) => telegrafCommand(programs.telegraf, buffer, port, stack.engines.questdb.url, folder),
    stack,
    async (peer, port) => {
      await emptyPeerPoints(stack);
      const credentials = { dataId: 1_500_001, token: 'bench' };
      const url = `http://127.0.0.1:${port}/push`;
      return measureKill({
        ...pointsPlace(stack, url, telegrafTable, 'metrics_memory_usage', credentials),
        killed: `Telegraf, ${buffer} buffer`,
        ok_means: telegrafMeaning[buffer],
        kill: () => peer.kill(),
        restart: () => peer.start(),
        settled: settledAtOnce,
      });
    },
  );

const killOwn = async (
  stack: Stack,
  role: 'ingress' | 'transfer',
  item: 'points' | 'spans',
): Promise<KillRow> => {
  const ports = stack.ingress[0]?.ports;
  if (item === 'points') {
    const { data_source: source, result_table: table } = await stack.createReport(`killed_${role}`);
    const credentials = { dataId: source.mon_data_id, token: source.token };
    const url = `http://127.0.0.1:${ports?.['push']}/v2/push/`;
    const place = pointsPlace(stack, url, table.table_id, 'memory_usage', credentials);
    return measureKill(ownVictim(stack, role, 'METRICS', place));
  }
  const { app_id: appId, token } = await stack.createApplication(`killed-${role}`);
  const url = `http://127.0.0.1:${ports?.['otlp']}/v1/traces`;
  const headers = { 'x-mon-token': token };
  const place = spansPlace(stack, url, 'otel.otel_traces', `AppId = ${appId}`, 'protobuf', headers);
  return measureKill(ownVictim(stack, role, 'TRACES', place));
};

/** Kills each of them once under load, in a stack with the default windows. */
export const measureKills = async (programs: Programs, say: (line: string) => void): Promise<KillRow[]> => {
  const stack = await startStack({ traces: true });
  const rows: KillRow[] = [];
  try {
    const kills = [
      () => killTelegraf(stack, programs, 'memory'),
      () => killTelegraf(stack, programs, 'disk'),
      () => killOwn(stack, 'ingress', 'points'),
      () => killOwn(stack, 'transfer', 'points'),
      () => killCollector(stack, programs, 'memory'),
      () => killCollector(stack, programs, 'file_fsync'),
      () => killOwn(stack, 'ingress', 'spans'),
      () => killOwn(stack, 'transfer', 'spans'),
    ];
    for (const kill of kills) {
      const row = await kill();
      say(`killed ${row.killed}: ${row.lost} of ${row.acknowledged} lost, ${row.stored_twice} twice`);
      rows.push(row);
    }
    return rows;
  } finally {
    await stack.stop();
  }
};
