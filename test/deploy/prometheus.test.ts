import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { missingTool } from '../support/clients/builds.ts';
import { readOverlayScaler, readScaler } from '../support/deploy/autoscaler.ts';
import { alarms, deployFolder, queriesTo } from '../support/deploy/dashboards.ts';
import {
  type Prometheus,
  prometheusPrograms,
  promtool,
  type RuleState,
  startPrometheus,
} from '../support/deploy/prometheus.ts';
import { takePorts } from '../support/stack/ports.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { waitFor } from '../support/wait.ts';

const rulesFolder = join(deployFolder, 'prometheus');
const missing = await missingTool('go');

let stack: Stack;
let prometheus: Prometheus;
let folder: string;

/** Sends points and spans, good ones and bad ones, until it is stopped. */
const startLoad = async (): Promise<() => Promise<void>> => {
  const { data_source: source } = await stack.createReport('prometheus');
  const { token } = await stack.createApplication('prometheus');
  const ports = stack.ingress[0]?.ports ?? {};
  const post = (port: string, path: string, headers: Record<string, string>, body: unknown) =>
    fetch(`http://127.0.0.1:${ports[port]}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const push = (accessToken: string) =>
    post(
      'push',
      '/v2/push/',
      {},
      {
        data_id: source.mon_data_id,
        access_token: accessToken,
        data: [
          { metrics: { cpu: 1 }, timestamp: Date.now() },
          { metrics: {} },
          { metrics: { cpu: 1 }, timestamp: 7 },
        ],
      },
    );
  let count = 0;
  const trace = () => {
    const start = BigInt(Date.now()) * 1_000_000n;
    const spanId = String(++count).padStart(16, '0');
    const span = {
      traceId: spanId.repeat(2),
      spanId,
      name: 'a',
      startTimeUnixNano: String(start),
      endTimeUnixNano: String(start),
    };
    return post(
      'otlp',
      '/v1/traces',
      { 'X-MON-TOKEN': token },
      {
        resourceSpans: [{ scopeSpans: [{ spans: [span] }] }],
      },
    );
  };
  await waitFor('both are known', 60_000, async () => (await push(source.token)).ok && (await trace()).ok);
  let isStopped = false;
  const run = async (): Promise<void> => {
    while (!isStopped) {
      // A receiver that is restarted refuses connections for a moment.
      await Promise.allSettled([push(source.token), push('wrong'), trace()]);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const running = run();
  return async () => {
    isStopped = true;
    await running;
  };
};

const configSchema = z.looseObject({
  scrape_configs: z.array(
    z.strictObject({
      job_name: z.string(),
      dns_sd_configs: z
        .tuple([z.strictObject({ names: z.tuple([z.string()]), type: z.literal('A'), port: z.int() })])
        .optional(),
      static_configs: z.tuple([z.strictObject({ targets: z.tuple([z.string()]) })]).optional(),
    }),
  ),
});

/** The scrape of the compose stack, by these addresses instead of names, with a second between scrapes. */
const writeConfig = (folder: string, addressOf: (job: string) => string): string => {
  const text = readFileSync(join(rulesFolder, 'prometheus.yaml'), 'utf8');
  const { scrape_configs: jobs, ...rest } = configSchema.parse(parse(text));
  const config = {
    ...rest,
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    // The engines of a stack of tests have no metrics of their own: test/deploy/alarms-fire.test.ts has those of QuestDB.
    scrape_configs: jobs
      .filter(({ job_name: name }) => name.startsWith('tidemark-'))
      .map(({ job_name: name }) => ({
        job_name: name,
        static_configs: [{ targets: [addressOf(name)] }],
      })),
  };
  const path = join(folder, 'prometheus.yaml');
  writeFileSync(path, stringify(config));
  cpSync(join(rulesFolder, 'rules'), join(folder, 'rules'), { recursive: true });
  return path;
};

const addressInStack = (job: string): string => {
  const role = { ingress: stack.ingress[0], transfer: stack.transfer[0], metadata: stack.metadata };
  const found = Object.entries(role).find(([name]) => job === `tidemark-${name}`)?.[1];
  return `127.0.0.1:${found?.ports['ops']}`;
};

const firing = (rules: readonly RuleState[]): string[] =>
  rules.filter(({ state }) => state === 'firing').map(({ name }) => name);

describe.skipIf(missing !== undefined)(
  `the alarms and dashboards on a real Prometheus ${missing ?? ''}`,
  () => {
    beforeAll(async () => {
      await prometheusPrograms();
    });

    it('the rules and the scrape configuration are valid', async () => {
      const temporary = await tempFolder();
      const config = writeConfig(temporary, () => '127.0.0.1:1');
      expect(await promtool(temporary, 'check', 'config', config)).toContain('SUCCESS');
    });

    // A wrong alarm is silent when it counts, or fires until it is ignored.
    it('each alarm fires and is quiet as in its cases', async () => {
      expect(await promtool(rulesFolder, 'test', 'rules', 'rules.test.yaml')).toContain('SUCCESS');
    });

    describe('that scrapes the three roles under load', () => {
      let stopLoad: () => Promise<void>;
      beforeAll(async () => {
        folder = mkdtempSync(join(tmpdir(), 'tidemark-prometheus-'));
        stack = await startStack({ traces: true });
        const [port = 0] = await takePorts(1);
        stopLoad = await startLoad();
        prometheus = await startPrometheus({
          config: writeConfig(folder, addressInStack),
          folder: join(folder, 'data'),
          port,
        });
        await waitFor('all is scraped often enough', 120_000, async () => {
          const rows = await prometheus.query('count_over_time(up{job=~"tidemark-.+"}[1m]) > 20');
          return rows.length === 3;
        });
        await waitFor('metadata has read everything', 120_000, async () => {
          const [row] = await prometheus.query('min(tidemark_watch_last_success_timestamp_seconds)');
          return Number(row?.value[1]) > 0;
        });
      });
      afterAll(async () => {
        await stopLoad?.();
        await prometheus?.stop();
        await stack?.stop();
        rmSync(folder, { recursive: true, force: true });
      });

      // Rows of these are differences: there are none where nothing is lost.
      const shown = queriesTo('prometheus').filter(({ text }) => !text.includes('open_difference'));
      it.each(shown)('$place: $text', async ({ text }) => {
        const rows = await prometheus.query(text.replaceAll('$__rate_interval', '20s'));
        expect(rows.length).toBeGreaterThan(0);
      });

      // Prometheus may spell a bound in another way than the scraped text.
      const buckets = alarms().flatMap(({ alert, expr }) =>
        [...expr.matchAll(/\w+_bucket\{[^}]*\}/g)].map(([text]) => ({ alert, text })),
      );
      it.each(buckets)('$alert finds $text', async ({ text }) => {
        expect((await prometheus.query(text)).length).toBeGreaterThan(0);
      });

      it.each([...readScaler().triggers, ...readOverlayScaler('nats-lag').triggers])(
        'transfer is scaled by an answer of one value: $name',
        async ({ metadata: { query } }) => {
          const rows = await prometheus.query(query);
          expect(rows.map(({ value: [, value] }) => Number.isFinite(Number(value)))).toEqual([true]);
        },
      );

      it('every alarm is evaluated without an error, and none cries', async () => {
        const rules = await prometheus.rules();
        expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
        expect(firing(rules)).toEqual(['TidemarkWatchdog']);
      });

      it('no counter of an alarm waits for its first event', async () => {
        const rows = await prometheus.query(
          'tidemark_transfer_dead_letters_total{reason="row_refused"} == 0',
        );
        expect(rows.map(({ metric }) => metric['pipeline']).toSorted()).toEqual([
          'ledger',
          'logs',
          'metrics',
          'otel_metrics',
          'traces',
        ]);
      });

      it('no alarm fires while each role is restarted', async () => {
        for (const role of [stack.transfer[0], stack.metadata, stack.ingress[0]]) {
          await role?.stop();
          role?.start();
          await role?.ready();
          expect(firing(await prometheus.rules())).toEqual(['TidemarkWatchdog']);
        }
        await waitFor('all is scraped again', 60_000, async () => {
          const rows = await prometheus.query('up{job=~"tidemark-.+"} == 1');
          return rows.length === 3;
        });
        expect(firing(await prometheus.rules())).toEqual(['TidemarkWatchdog']);
      });

      it('an alarm fires when a role is down', async () => {
        await stack.transfer[0]?.kill();
        await waitFor('it is pending', 60_000, async () => {
          const rules = await prometheus.rules();
          return rules.find(({ name }) => name === 'TidemarkRoleGone')?.state !== 'inactive';
        });
      });
    });
  },
);
