import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  clickhouseNumber,
  type Producer,
  questdbNumber,
  startProducer,
} from '../support/containers/sender.ts';
import { dnsObjects, natsObjects, volumeObjects } from '../support/kubernetes/objects.ts';
import { blockOf, laterTag, presentTag, withoutCharts } from '../support/kubernetes/page.ts';
import { waitFor } from '../support/wait.ts';

/**
 * docs/kubernetes.md on a real Kubernetes of one node: its commands as they stand there, in its order. What no registry of packages
 * has stands in: NATS comes from the values of the repository without its chart, and the operators' objects have their types alone.
 */
const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const goModules = join(root, 'test/deploy/kubernetes');

const report = z.object({
  data_source: z.object({ mon_data_id: z.number(), token: z.string() }),
  result_table: z.object({ table_id: z.string() }),
});
const application = z.object({ application: z.object({ app_id: z.number(), token: z.string() }) });
const accounts = z.object({
  items: z.array(
    z.object({
      received: z.number(),
      stored: z.number(),
      in_flight: z.number(),
      adds_up: z.boolean().nullable(),
    }),
  ),
});

/** The folder in which the commands run: `deploy` and `pipelines` of the repository, and the overlay of the page. */
let folder: string;

/** Runs commands of the page, with the variables that earlier ones have set. Answers what they print. */
const page = async (commands: string, timeout = 600_000): Promise<string> => {
  const script = join(folder, 'block.sh');
  const kept = '^(INGRESS|TRANSFER|METADATA|OPERATOR|QUESTDB|CLICKHOUSE|GRAFANA_[A-Z]*)=';
  writeFileSync(
    script,
    `set -eu\n[ -f variables ] && . ./variables\n${commands}\nset | grep -E '${kept}' >variables || true\n`,
  );
  try {
    // Commands refuse what is no setting of theirs.
    const env = { ...process.env, TIDEMARK_TEST_CLUSTER: undefined };
    const { stdout } = await run('sh', [script], { cwd: folder, env, timeout, maxBuffer: 2 ** 26 });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = z.object({ stdout: z.string(), stderr: z.string() }).parse(error);
    throw new Error(`${commands}\n${stdout.slice(-2_000)}\n${stderr.slice(-2_000)}`, { cause: error });
  }
};
const kubectl = (...args: readonly string[]): Promise<string> =>
  run('kubectl', [...args], { maxBuffer: 2 ** 26, timeout: 300_000 }).then(({ stdout }) => stdout);
const tidemark = (...args: readonly string[]): Promise<string> =>
  kubectl('-n', 'tidemark', 'exec', 'deploy/metadata', '--', 'tidemark', ...args);

/** The types of the operators' objects, of the modules that the strict decoding of the manifests uses. */
const applyTypes = async (): Promise<void> => {
  for (const [module, path] of [
    ['github.com/kedacore/keda/v2', 'config/crd/bases'],
    ['github.com/prometheus-operator/prometheus-operator@v0.85.0', 'example/prometheus-operator-crd'],
  ] as const) {
    const { stdout } = await run('go', ['mod', 'download', '-json', module], { cwd: goModules });
    const { Dir } = z.object({ Dir: z.string() }).parse(JSON.parse(stdout));
    await kubectl('apply', '--server-side', '-f', join(Dir, path));
  }
};

const apply = async (text: string): Promise<void> => {
  const file = join(folder, 'objects.yaml');
  writeFileSync(file, text);
  await kubectl('apply', '-f', file);
};

/** The claims of `small`, with the namespace and the size of each in GiB. */
const claims = {
  'nats/nats-js-nats-0': 64,
  'tidemark/data-questdb-0': 100,
  'tidemark/data-clickhouse-0': 100,
  'tidemark/backups-clickhouse-0': 200,
  'tidemark/backup': 200,
};
const cluster = process.env['TIDEMARK_TEST_CLUSTER'] ?? '';
const volumes = join(cluster, 'volumes');
const hosts = join(cluster, 'hosts');

/** Requests that the node of the test has; everything else is as it is. */
const requests = `patches:
  - target: { kind: "Deployment|StatefulSet" }
    patch: |-
      - { op: replace, path: /spec/template/spec/containers/0/resources/requests, value: { cpu: 20m, memory: 64Mi } }
`;

const useTag = (tag: string): void => {
  const overlay = blockOf('5. Your overlay', 0, 'yaml').replace(/configMapGenerator:[\s\S]*$/, '');
  mkdirSync(join(folder, 'cluster'), { recursive: true });
  writeFileSync(
    join(folder, 'cluster/kustomization.yaml'),
    overlay.replace(/newTag: .* }/, `newTag: ${tag} }`) + requests,
  );
};

const addressOf = (kind: 'service' | 'pod', name: string): Promise<string> =>
  kubectl(
    '-n',
    'tidemark',
    'get',
    kind,
    name,
    '-o',
    `jsonpath={.${kind === 'pod' ? 'status.podIP' : 'spec.clusterIP'}}`,
  );
const passwordOf = async (secret: string): Promise<string> =>
  Buffer.from(
    await kubectl('-n', 'tidemark', 'get', 'secret', secret, '-o', 'jsonpath={.data.password}'),
    'base64',
  ).toString();

let owners: { dataId: number; table: string; appId: number; pushToken: string; writeToken: string };

const startSending = async (): Promise<Producer> => {
  const address = await addressOf('service', 'ingress');
  return startProducer({ ...owners, pushUrl: `http://${address}:10205`, otlpUrl: `http://${address}:4318` });
};

const storedPoints = async (): Promise<number> => {
  // It answers to its own name, and not to an address.
  writeFileSync(hosts, `127.0.0.1 localhost\n${await addressOf('pod', 'questdb-0')} questdb\n`);
  const url = `http://tidemark:${await passwordOf('tidemark-questdb')}@questdb:9000`;
  return questdbNumber(url, `SELECT count() FROM "${owners.table}"`);
};
const storedSpans = async (): Promise<number> => {
  const url = `http://tidemark:${await passwordOf('tidemark-clickhouse')}@${await addressOf('pod', 'clickhouse-0')}:8123`;
  return clickhouseNumber(url, `SELECT count() FROM otel.otel_traces WHERE AppId = ${owners.appId}`);
};

/** What all producers together had acknowledged. */
const sent = { points: 0, spans: 0 };
const stopSending = async (producer: Producer): Promise<void> => {
  await producer.stop();
  sent.points += producer.books.points;
  sent.spans += producer.books.spans;
};
const isStoredOnce = async (): Promise<void> => {
  await expect.poll(storedPoints, { timeout: 120_000, interval: 1_000 }).toBe(sent.points);
  await expect.poll(storedSpans, { timeout: 120_000, interval: 1_000 }).toBe(sent.spans);
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-page-'));
  for (const name of ['deploy', 'pipelines'])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  useTag(presentTag);
  await applyTypes();
  await apply(dnsObjects());
  await apply(volumeObjects(volumes, claims));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the page, from an empty cluster', () => {
  it('installs everything by its commands, and doctor finds nothing', async () => {
    await page(withoutCharts(blockOf('2. Operators', 1)));
    await page(blockOf('3. Secrets'));
    await page(withoutCharts(blockOf('4. Engines')));
    await apply(natsObjects());
    await page(blockOf('4. Engines', 1));
    const shown = await page(blockOf('6. Start'));
    expect(shown).toMatch(/ok +data point: in the balance/);
  });

  it('takes a first row, and its ledger shows it', async () => {
    await page(blockOf('6. Start', 1).split('\n')[0] ?? '');
    const made = report.parse(
      JSON.parse(await tidemark('report', 'create', '--biz', '2', '--name', 'sent', '--json')),
    );
    const app = application.parse(
      JSON.parse(await tidemark('app', 'create', '--biz', '2', '--name', 'sent', '--json')),
    );
    const { mon_data_id: dataId, token: pushToken } = made.data_source;
    const { app_id: appId, token: writeToken } = app.application;
    owners = { dataId, table: made.result_table.table_id, appId, pushToken, writeToken };
    const producer = await startSending();
    await producer.more(5);
    await stopSending(producer);
    await isStoredOnce();
    // The books come a few seconds behind the rows.
    const ledger = (): Promise<string> => page(blockOf('6. Start', 2));
    await expect.poll(ledger, { timeout: 60_000, interval: 1_000 }).toContain(`data id ${dataId}`);
  });
});

describe('under load', () => {
  it.each(['ingress', 'transfer', 'metadata', 'nats', 'questdb', 'clickhouse'])(
    'a pod of %s that is killed loses nothing and doubles nothing',
    async (name) => {
      const producer = await startSending();
      await producer.more(5);
      const namespace = name === 'nats' ? 'nats' : 'tidemark';
      const label = `app.kubernetes.io/name=${name}`;
      const pods = await kubectl('-n', namespace, 'get', 'pod', '-l', label, '-o', 'name');
      const [pod = ''] = pods.split('\n');
      await kubectl('-n', namespace, 'delete', pod, '--force', '--grace-period=0');
      await producer.more(20);
      await stopSending(producer);
      await isStoredOnce();
    },
  );

  it('an upgrade and its roll-back by the script refuse no request', async () => {
    const producer = await startSending();
    await producer.more(5);
    useTag(laterTag);
    await page('sh deploy/kubernetes/upgrade.sh cluster');
    await producer.more(5);
    useTag(presentTag);
    await page('sh deploy/kubernetes/upgrade.sh --back cluster');
    await producer.more(5);
    await stopSending(producer);
    await isStoredOnce();
    expect(producer.books.retries).toBe(0);
  });

  it('a password of NATS is rotated by the commands of the page, and nothing is lost', async () => {
    const producer = await startSending();
    await producer.more(5);
    await page(blockOf('Rotate a password of NATS'));
    await producer.more(20);
    await stopSending(producer);
    await isStoredOnce();
  });

  it('a lost admin token is replaced by the commands of the page', async () => {
    const forward = spawn('sh', ['-c', `exec ${blockOf('Lost admin token')}`], { stdio: 'ignore' });
    try {
      const isForwarded = async (): Promise<boolean> => {
        const socket = connect(4222, '127.0.0.1');
        await once(socket, 'connect');
        socket.destroy();
        return true;
      };
      await waitFor('NATS at its port of this machine', 60_000, isForwarded);
      await page(blockOf('Lost admin token', 1).replace('bin/tidemark', join(root, 'bin/tidemark')));
    } finally {
      forward.kill();
    }
    // The kubelet renews the file of the secret.
    await waitFor('a command in a pod has the new token', 240_000, () =>
      tidemark('report', 'list').then(() => true),
    );
  });

  it('a node that is drained gives up one receiver after the other, and refuses no request meanwhile', async () => {
    const producer = await startSending();
    await producer.more(5);
    const evict = (pod: string): Promise<unknown> =>
      kubectl(
        'create',
        '--raw',
        `/api/v1/namespaces/tidemark/pods/${pod}/eviction`,
        '-f',
        join(folder, 'eviction.json'),
      );
    const names = (
      await kubectl('-n', 'tidemark', 'get', 'pod', '-l', 'app.kubernetes.io/name=ingress', '-o', 'name')
    )
      .trim()
      .split('\n')
      .map((name) => name.replace('pod/', ''));
    for (const name of names) {
      writeFileSync(
        join(folder, 'eviction.json'),
        JSON.stringify({
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { name, namespace: 'tidemark' },
        }),
      );
      // The budget refuses the second one until the first has a successor.
      await waitFor(`${name} may go`, 120_000, () => evict(name).then(() => true));
    }
    await producer.more(20);
    await stopSending(producer);
    await isStoredOnce();
    expect(producer.books.retries).toBe(0);
  });
});

describe('backup and restore', () => {
  let name: string;

  it('a backup at once ends well', async () => {
    await page(blockOf('Backup'));
    await kubectl('-n', 'tidemark', 'wait', '--for=condition=complete', 'job/backup-now', '--timeout=300s');
    const made = readdirSync(join(volumes, 'backup')).filter((each) =>
      existsSync(join(volumes, 'backup', each, 'nats')),
    );
    expect(made).toHaveLength(1);
    name = made[0] ?? '';
  });

  it('into engines without data its commands bring back every row, and the line goes on', async () => {
    await kubectl('-n', 'tidemark', 'delete', 'deployment', '--all');
    await kubectl('-n', 'tidemark', 'delete', 'job', '--all');
    for (const [namespace, ...statefulSets] of [
      ['tidemark', 'questdb', 'clickhouse'],
      ['nats', 'nats'],
    ] as const)
      await kubectl('-n', namespace, 'delete', 'statefulset', ...statefulSets);
    for (const claim of [
      'nats/nats-js-nats-0',
      'tidemark/data-questdb-0',
      'tidemark/data-clickhouse-0',
    ] as const) {
      const [namespace = '', claimName = ''] = claim.split('/');
      await kubectl('-n', namespace, 'delete', 'pvc', claimName);
      await kubectl('delete', 'pv', `${namespace}-${claimName}`);
      rmSync(join(volumes, claimName), { recursive: true });
    }
    await apply(volumeObjects(volumes, claims));
    await apply(natsObjects());
    await page(blockOf('4. Engines', 1));

    await page(blockOf('Restore'));
    const restoring = join(folder, 'deploy/kubernetes/restore/kustomization.yaml');
    const named = readFileSync(restoring, 'utf8')
      .replace(/BACKUP=.*/, `BACKUP=${name}`)
      .replace('- name: tidemark\n', `- name: tidemark\n    newName: registry.example.com/tidemark\n`);
    writeFileSync(restoring, named);
    await page(blockOf('Restore', 1).replaceAll('<name>', name));
    await isStoredOnce();

    const producer = await startSending();
    await producer.more(5);
    await stopSending(producer);
    await isStoredOnce();
    const shown = async (): Promise<unknown[]> =>
      accounts.parse(JSON.parse(await tidemark('ledger', '--data-id', String(owners.dataId), '--json')))
        .items;
    await expect
      .poll(shown, { timeout: 120_000, interval: 2_000 })
      .toMatchObject([{ received: sent.points, stored: sent.points, in_flight: 0, adds_up: true }]);
  });
});
