import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { PeerCommand } from './process.ts';

/** Where the Collector keeps acknowledged items that are not stored yet; `none`: it parses and discards them. */
export type CollectorQueue = 'memory' | 'file' | 'file_fsync' | 'none';

export const collectorMeaning: Readonly<Record<CollectorQueue, string>> = {
  memory: 'in memory',
  file: 'in a file',
  file_fsync: 'on disk (fsync)',
  none: 'nothing',
};

/**
 * Full size of a batch, and the time it waits for more: the exporter's guide recommends batches of some thousand spans. A full
 * queue blocks the sender, so that no span is refused and none pile up.
 */
const queueOf = (queue: CollectorQueue): object => ({
  enabled: true,
  sizer: 'items',
  queue_size: 200_000,
  block_on_overflow: true,
  num_consumers: 4,
  batch: { flush_timeout: '200ms', min_size: 10_000, max_size: 20_000 },
  ...(queue === 'memory' ? {} : { storage: 'file_storage' }),
});

/** What differs between the Collectors that are measured. */
export type CollectorKind = { readonly queue: CollectorQueue; readonly isGrpc: boolean };

const configOf = (
  { queue, isGrpc }: CollectorKind,
  port: number,
  clickhouseUrl: string,
  folder: string,
): object => {
  const isStored = queue !== 'none';
  const { origin, username, password } = new URL(clickhouseUrl);
  const isOnFile = queue === 'file' || queue === 'file_fsync';
  const directory = join(folder, 'queue');
  if (isOnFile) mkdirSync(directory, { recursive: true });
  const pipeline = { receivers: ['otlp'], exporters: [isStored ? 'clickhouse' : 'nop'] };
  const protocol = { endpoint: `127.0.0.1:${port}` };
  return {
    receivers: { otlp: { protocols: isGrpc ? { grpc: protocol } : { http: protocol } } },
    exporters: isStored
      ? {
          clickhouse: {
            endpoint: origin,
            username,
            password,
            database: 'peer',
            create_schema: true,
            async_insert: false,
            timeout: '30s',
            sending_queue: queueOf(queue),
            retry_on_failure: { enabled: true, initial_interval: '200ms', max_elapsed_time: '300s' },
          },
        }
      : { nop: {} },
    ...(isOnFile
      ? { extensions: { file_storage: { directory, fsync: queue === 'file_fsync', timeout: '10s' } } }
      : {}),
    service: {
      ...(isOnFile ? { extensions: ['file_storage'] } : {}),
      telemetry: { metrics: { level: 'none' }, logs: { level: 'warn' } },
      pipelines: { traces: pipeline, logs: pipeline, metrics: pipeline },
    },
  };
};

/** The Collector with its ClickHouse exporter, tables `peer.otel_…` as it makes them. */
export const collectorCommand = (
  program: string,
  kind: CollectorKind,
  port: number,
  clickhouseUrl: string,
  folder: string,
): PeerCommand => ({
  name: 'collector',
  program,
  args: (configPath) => ['--config', `file:${configPath}`],
  config: (own) => stringify(configOf(kind, port, clickhouseUrl, own)),
  folder,
  port,
});
