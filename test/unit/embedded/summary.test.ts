import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config/settings.ts';
import { planStack } from '../../../src/embedded/stack.ts';
import { summarise } from '../../../src/embedded/summary.ts';

const token = '0123456789abcdef'.repeat(2);
const demo = {
  report: {
    name: 'demo',
    bizId: 2,
    dataId: 1_500_001,
    token,
    table: '2_mon_time_series_1500001.__default__',
  },
  application: { name: 'shop', bizId: 2, appId: 1, token },
};

const summaryWith = async (env: Record<string, string> = {}, path = '/usr/bin:/bin'): Promise<string> => {
  const settings = loadSettings({ TIDEMARK_DATA: '/home/somebody/tidemark/.tidemark', ...env });
  const plan = await planStack(settings);
  const link = `${plan.adminUrl}/console/login#1.${'01234567'.repeat(5)}`;
  return summarise(plan, { demo, link, missing: undefined }, settings, path);
};

describe('the summary of tidemark up', () => {
  it('is one screen of 24 lines and 100 columns', async () => {
    const lines = (await summaryWith()).split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    // The line with the folders of this machine is as long as these.
    const others = lines.filter((line) => !line.startsWith('  export '));
    for (const line of others) expect(line.length, line).toBeLessThanOrEqual(100);
  });

  it('names the reader of both databases, where they run here', async () => {
    const summary = await summaryWith();
    expect(summary).toMatch(/QuestDB .*:9000 .*user readonly.* 127\.0\.0\.1:8812/);
    expect(summary).toMatch(/ClickHouse .*:8123 .*user readonly/);
    const elsewhere = await summaryWith({
      TIDEMARK_QUESTDB_URL: 'http://a:secret@db:9000',
      TIDEMARK_CLICKHOUSE_URL: 'http://a:secret@db:8123',
    });
    expect(elsewhere).toMatch(/QuestDB +http:\/\/db:9000\n/);
    expect(elsewhere).not.toMatch(/readonly|8812|secret/);
  });

  it('has the receivers with https where they have a certificate', async () => {
    expect(await summaryWith()).toContain(' http://127.0.0.1:4318 (HTTP), http://127.0.0.1:4317 (gRPC)');
    const secure = await summaryWith({
      TIDEMARK_INGRESS_TLS_CERT_FILE: '/etc/cert.pem',
      TIDEMARK_INGRESS_TLS_KEY_FILE: '/etc/key.pem',
    });
    expect(secure).toContain(' https://127.0.0.1:4318 (HTTP), https://127.0.0.1:4317 (gRPC)');
    expect(secure).toContain(' https://127.0.0.1:10205/v2/push/');
  });

  it('names Grafana where it is set, else how to run one', async () => {
    expect(await summaryWith()).toContain('sh deploy/grafana/run.sh');
    expect(await summaryWith({ TIDEMARK_CONSOLE_GRAFANA_URL: 'https://grafana.example' })).toMatch(
      /Grafana +https:\/\/grafana\.example/,
    );
  });

  it('sets the address of the admin API for other commands where it is not the default', async () => {
    expect(await summaryWith()).not.toContain('TIDEMARK_ADMIN_URL');
    expect(await summaryWith({ TIDEMARK_METADATA_API_PORT: '10444' })).toContain(
      " TIDEMARK_DATA='/home/somebody/tidemark/.tidemark' TIDEMARK_ADMIN_URL=http://127.0.0.1:10444",
    );
  });

  it('makes tidemark a command of another terminal, unless npm has installed it', async () => {
    const own = resolve(import.meta.dirname, '../../../bin');
    const line = `  export PATH='${own}':"$PATH" TIDEMARK_DATA='`;
    expect(await summaryWith()).toContain(line);
    // In the PATH of this terminal, which another one does not have.
    expect(await summaryWith({}, `${own}:/usr/bin`)).toContain(line);
    const linked = await mkdtemp(join(tmpdir(), 'tidemark-bin-'));
    await symlink(join(own, 'tidemark'), join(linked, 'tidemark'));
    expect(await summaryWith({}, `/usr/bin:${linked}`)).toContain('  export TIDEMARK_DATA=');
    await rm(linked, { recursive: true });
  });
});
