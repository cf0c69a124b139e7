import { type Command, Option } from 'commander';
import { z } from 'zod';
import { engineUrls, questdbInstances, type Settings } from '../config/settings.ts';
import type { Finding } from '../doctor/dependencies.ts';
import { adminClient, createAdminClient } from './client.ts';
import { timeoutOption } from './options.ts';
import { integerArgument, printJson, printTable } from './output.ts';
import { loadCommandSettings } from './running-stack.ts';
import { receiverUrls } from './sending.ts';

type DoctorOptions = {
  json?: true;
  pushUrl?: string;
  otlpUrl?: string;
  grpcUrl?: string;
  biz: number;
  timeout: number;
  trial: boolean;
  remote?: true;
};

const findingSchema = z.object({
  name: z.string(),
  ok: z.boolean(),
  detail: z.string(),
  remedy: z.string(),
  ms: z.number(),
});
const doctorSchema = z.object({ well: z.boolean(), findings: z.array(findingSchema) });
const remoteTimeoutMs = 120_000;

/** As metadata sees them, from where it runs. */
const examineRemotely = async (): Promise<Finding[]> => {
  const { lookAtAdmin } = await import('./doctor/connections.ts');
  const client = adminClient();
  const ofLine = await lookAtAdmin(client);
  const { value } = await client.ask(doctorSchema, 'POST', '/api/v1/doctor', { timeoutMs: remoteTimeoutMs });
  return [...ofLine, ...value.findings];
};

const examine = async (settings: Settings, options: DoctorOptions): Promise<Finding[]> => {
  // Loaded here: no other command but the roles needs the clients.
  const { createClickhouse } = await import('../stores/clickhouse/client.ts');
  const { createClickhouseReader } = await import('../stores/clickhouse/reader.ts');
  const { readerUrls } = await import('../config/reader-urls.ts');
  const { createQuestdbSql } = await import('../stores/questdb/sql.ts');
  const { lookAtAddresses, lookAtClickhouse, lookAtQuestdb } = await import('../doctor/dependencies.ts');
  const { lookAtAdmin, lookAtNats } = await import('./doctor/connections.ts');
  const { tryApplication, tryPoint } = await import('./doctor/end-to-end.ts');
  const questdb = questdbInstances(settings).map(({ name, url }) => ({
    name,
    sql: createQuestdbSql({ url }),
  }));
  const clickhouse = createClickhouse({ url: engineUrls(settings).clickhouse });
  const reader = createClickhouseReader(readerUrls(settings).clickhouse);
  const client = createAdminClient(settings);
  try {
    // What is wrong in the line explains most of what follows.
    const ofLine = await lookAtAdmin(client);
    const ofQuestdb: Finding[] = [];
    for (const { name, sql } of questdb)
      ofQuestdb.push(...(await lookAtQuestdb(questdb.length === 1 ? 'questdb' : `questdb ${name}`, sql)));
    const dependencies = [
      ...ofLine,
      ...(await lookAtNats(settings)),
      ...lookAtAddresses(settings),
      ...ofQuestdb,
      ...(await lookAtClickhouse(clickhouse, reader, settings.schemasFolder)),
    ];
    if (!options.trial) return dependencies;
    const deps = {
      client,
      sqlOf: (instance: string) => questdb.find(({ name }) => name === instance)?.sql,
      clickhouse,
      ...receiverUrls(settings, options),
      bizId: options.biz,
      timeoutMs: options.timeout * 1000,
    };
    const findings = await Promise.all([tryPoint(deps), tryApplication(deps)]);
    return [...dependencies, ...findings.flat()];
  } finally {
    await Promise.all([...questdb.map(({ sql }) => sql.close()), clickhouse.close(), reader.close()]);
  }
};

const withRemedy = (detail: string, remedy: string): string => {
  if (remedy === '') return detail;
  return `${'.!?'.includes(detail.at(-1) ?? ' ') ? detail : `${detail}.`} ${remedy}`;
};

const doctor = async (options: DoctorOptions): Promise<void> => {
  const findings = options.remote ? await examineRemotely() : await examine(loadCommandSettings(), options);
  const isWell = findings.every(({ ok }) => ok);
  if (options.json) printJson({ well: isWell, findings });
  else {
    printTable(
      ['', 'WHAT', 'MS', 'SEEN'],
      findings.map(({ name, ok, ms, detail, remedy }) => [
        ok ? 'ok' : 'NOT OK',
        name,
        String(ms),
        ok ? detail : withRemedy(detail, remedy),
      ]),
    );
  }
  // The clients of the bus may leave timers behind.
  process.exit(isWell ? 0 : 1);
};

/** `tidemark doctor`. */
export const register = (program: Command): void => {
  program
    .command('doctor')
    .description(
      'name the troubles of the line, check every dependency and disk, compare clocks, and send one point, one span, one log record and one data point through all stages, with the time of each; exit code 1 on a failed check',
    )
    .option('--push-url <url>', 'the push receiver, default the local one')
    .option('--otlp-url <url>', 'the OTLP receiver, default the local one')
    .option('--grpc-url <url>', 'the OTLP receiver over gRPC, default the local one; with --otlp-url none')
    .option('--biz <id>', 'business of the trial report and the trial application', integerArgument, 0)
    .addOption(timeoutOption('for each stage'))
    .option('--no-trial', 'send nothing')
    .addOption(
      new Option('--remote', 'run the checks in the metadata process, and send nothing').conflicts([
        ...['pushUrl', 'otlpUrl', 'grpcUrl', 'biz', 'timeout'],
      ]),
    )
    .option('--json', 'print {well, findings: [{name, ok, detail, remedy, ms}]} as JSON')
    .action(doctor);
};
