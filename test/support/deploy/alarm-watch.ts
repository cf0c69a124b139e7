import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { takePorts } from '../stack/ports.ts';
import type { Stack } from '../stack/stack.ts';
import { waitFor } from '../wait.ts';
import { type Prometheus, startPrometheus } from './prometheus.ts';
import { type Lowered, writeShortRules } from './short-rules.ts';

const target = (job: string, ...ports: (number | undefined)[]) => ({
  job_name: job,
  static_configs: [{ targets: ports.map((port) => `127.0.0.1:${port}`) }],
});

/** The port of QuestDB's own metrics, which the QuestDB that starts next serves as in deploy/compose.yaml. */
export const questdbMetricsPort = async (): Promise<number> => {
  const [port = 0] = await takePorts(1);
  process.env['QDB_METRICS_ENABLED'] = 'true';
  process.env['QDB_HTTP_MIN_ENABLED'] = 'true';
  process.env['QDB_HTTP_MIN_NET_BIND_TO'] = `127.0.0.1:${port}`;
  process.env['QDB_HTTP_HEALTH_CHECK_AUTHENTICATION_REQUIRED'] = 'false';
  return port;
};

export const forgetQuestdbMetrics = (): void => {
  for (const name of ['METRICS_ENABLED', 'HTTP_MIN_ENABLED', 'HTTP_MIN_NET_BIND_TO'])
    delete process.env[`QDB_${name}`];
};

export type AlarmWatch = {
  /** Names of alarms that were seen to fire where a test waited for them. */
  readonly caused: ReadonlySet<string>;
  /** Goes on with these thresholds, and forgets what it scraped. Ports in `more` are further processes, by job. */
  restart(lowered: Lowered, more?: Readonly<Record<string, number>>): Promise<Prometheus>;
  firing(): Promise<Set<string>>;
  /** Each of them at some time: what one stands for may be over before another one's wait. */
  fires(...names: string[]): Promise<void>;
  ends(...names: string[]): Promise<unknown>;
  stop(): Promise<void>;
};

/** A real Prometheus with the shipped jobs by their names, a second between scrapes, and rules whose times are a sixtieth. */
export const createAlarmWatch = (stack: Stack, folder: string, questdbOps: number): AlarmWatch => {
  const caused = new Set<string>();
  let prometheus: Prometheus | undefined;
  let starts = 0;
  const firing = async (): Promise<Set<string>> =>
    new Set(
      ((await prometheus?.rules()) ?? []).flatMap(({ state, name }) => (state === 'firing' ? [name] : [])),
    );
  return {
    caused,
    firing,
    async restart(lowered, more = {}) {
      await prometheus?.stop();
      const own = join(folder, `prometheus-${++starts}`);
      mkdirSync(own);
      writeShortRules(own, lowered);
      const ops = (role: { ports: Readonly<Record<string, number>> } | undefined) => role?.ports['ops'];
      const config = {
        global: { scrape_interval: '1s', evaluation_interval: '1s' },
        rule_files: ['rules/*.yaml'],
        scrape_configs: [
          target('tidemark-ingress', ...stack.ingress.map(ops)),
          target('tidemark-transfer', ops(stack.transfer[0])),
          target('tidemark-metadata', ops(stack.metadata)),
          target('questdb', questdbOps),
          ...Object.entries(more).map(([job, port]) => target(job, port)),
        ],
      };
      writeFileSync(join(own, 'prometheus.yaml'), stringify(config));
      const [port = 0] = await takePorts(1);
      prometheus = await startPrometheus({
        config: join(own, 'prometheus.yaml'),
        folder: join(own, 'data'),
        port,
      });
      return prometheus;
    },
    async fires(...names) {
      const seen = new Set<string>();
      await waitFor(`${names.join(', ')} fire`, 120_000, async () => {
        for (const name of await firing()) seen.add(name);
        const silent = names.filter((name) => !seen.has(name));
        if (silent.length > 0) throw new Error(`silent: ${silent.join(', ')}`);
        return true;
      });
      for (const name of names) caused.add(name);
    },
    ends: (...names) =>
      waitFor(`${names.join(', ')} end`, 90_000, async () => {
        const now = await firing();
        return names.every((name) => !now.has(name));
      }),
    stop: async () => {
      await prometheus?.stop();
    },
  };
};
