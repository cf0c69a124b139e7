import { join } from 'node:path';
import type { PeerCommand } from './process.ts';

/** Where Telegraf keeps acknowledged items that are not stored yet; `none`: it parses and discards them. */
export type TelegrafBuffer = 'memory' | 'disk' | 'none';

/** Its listener answers once the points are in the channel to the buffer, which holds 100 of them. */
export const telegrafMeaning: Readonly<Record<TelegrafBuffer, string>> = {
  memory: 'in memory',
  disk: 'on disk but for 100',
  none: 'nothing',
};

export const telegrafTable = 'peer_points';

const metricColumns = (columns: number | undefined): string[] =>
  columns === undefined
    ? ['metrics_cpu_load', 'metrics_memory_usage']
    : Array.from({ length: columns }, (_, index) => `metrics_metric_${index}`);

/**
 * Columns for Telegraf's flattened names, of the usual metrics or of so many; no upsert: it has no key that identifies a
 * repeat.
 */
export const telegrafTableSql = (columns?: number): string => `CREATE TABLE IF NOT EXISTS ${telegrafTable} (
  timestamp TIMESTAMP, target SYMBOL, dimension_module SYMBOL, dimension_location SYMBOL, dimension_host SYMBOL,
  ${metricColumns(columns)
    .map((name) => `${name} DOUBLE`)
    .join(', ')}
) TIMESTAMP(timestamp) PARTITION BY DAY WAL`;

const output = (buffer: TelegrafBuffer, questdbUrl: string): string => {
  if (buffer === 'none') return '[[outputs.discard]]\n';
  const { origin, username, password } = new URL(questdbUrl);
  return `[[outputs.influxdb]]
  urls = ["${origin}"]
  username = "${username}"
  password = "${password}"
  database = "bench"
  skip_database_creation = true
  content_encoding = "identity"
  timeout = "30s"
`;
};

/** A buffer that no run fills: Telegraf never blocks a sender, it discards the oldest items instead. */
const configOf = (
  buffer: TelegrafBuffer,
  port: number,
  questdbUrl: string,
  folder: string,
): string => `[agent]
  interval = "1s"
  flush_interval = "200ms"
  metric_batch_size = 20000
  metric_buffer_limit = 20000000
  omit_hostname = true
  quiet = true
  skip_processors_after_aggregators = true
${buffer === 'disk' ? `  buffer_strategy = "disk"\n  buffer_directory = "${join(folder, 'buffer')}"\n` : ''}
[[inputs.http_listener_v2]]
  service_address = "tcp://127.0.0.1:${port}"
  paths = ["/push"]
  methods = ["POST"]
  http_success_code = 200
  read_timeout = "120s"
  write_timeout = "120s"
  data_format = "json"
  name_override = "${telegrafTable}"
  json_query = "data"
  tag_keys = ["target", "dimension_module", "dimension_location", "dimension_host"]
  json_time_key = "timestamp"
  json_time_format = "unix_ms"

${output(buffer, questdbUrl)}`;

/** Telegraf's HTTP listener into QuestDB's line protocol. */
export const telegrafCommand = (
  program: string,
  buffer: TelegrafBuffer,
  port: number,
  questdbUrl: string,
  folder: string,
): PeerCommand => ({
  name: 'telegraf',
  program,
  args: (configPath) => ['--config', configPath],
  config: (own) => configOf(buffer, port, questdbUrl, own),
  folder,
  port,
});
