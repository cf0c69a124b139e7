import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { built, nicely } from '../clients/builds.ts';
import { installPackages, removeGroups } from '../containers/docker-engine.ts';
import type { Say } from '../containers/say.ts';
import { waitFor } from '../wait.ts';

const run = promisify(execFile);
const folderOfTests = join(import.meta.dirname, '../../kubernetes');

const version = 'v1.34.2';
const components = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-proxy',
  'kube-scheduler',
  'kubectl',
  'kubelet',
];
const versionFlags = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].map(
  (name) => `-X ${name}.gitVersion=${version}`,
);

/** The programs of a node, each with the Debian package that brings it. */
const packages = {
  containerd: 'containerd',
  runc: 'runc',
  iptables: 'iptables',
  conntrack: 'conntrack',
  ip: 'iproute2',
} as const;
const networkPlugins = { path: '/usr/lib/cni/bridge', name: 'containernetworking-plugins' } as const;

/** The folder with Kubernetes, etcd, CoreDNS and the first process of a pod, built by Go into the cache by the first call. */
export const clusterPrograms = (): Promise<string> =>
  built({
    name: 'kubernetes',
    folder: join(folderOfTests, 'cluster'),
    sources: ['go.mod', 'go.sum', 'dns/main.go', 'pause/main.go'],
    key: version,
    make: (sources, to) =>
      nicely(
        sources,
        'go',
        [
          ...[
            'build',
            '-mod=readonly',
            '-trimpath',
            '-ldflags',
            `-s -w ${versionFlags.join(' ')}`,
            '-o',
            `${to}/`,
          ],
          ...components.map((name) => `k8s.io/kubernetes/cmd/${name}`),
          ...['go.etcd.io/etcd/server/v3', './dns', './pause'],
        ],
        { CGO_ENABLED: '0' },
      ),
  });

/** A running cluster of one node. */
export type Cluster = {
  /** A command line that runs what follows it inside of the cluster's namespaces, in this folder, as its administrator. */
  readonly inside: readonly string[];
  /** Its folder: `volumes` has those of the node, and `hosts` is the file /etc/hosts inside. */
  readonly folder: string;
  close(): Promise<void>;
};

/** The control groups of the version 1 are one hierarchy for each controller, those of the version 2 are one for all. */
const hierarchies = (): string[] => {
  const root = '/sys/fs/cgroup';
  if (existsSync(join(root, 'cgroup.controllers'))) return [root];
  return readdirSync(root).map((name) => join(root, name));
};

/** Starts a cluster out of these programs, and resolves once its node is ready; rejects with the last words of the start. */
export const openCluster = async (programs: string, say: Say): Promise<Cluster> => {
  const missing = existsSync(networkPlugins.path) ? [] : [networkPlugins.name];
  await installPackages(packages, say, missing);
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-kubernetes-'));
  const group = `tidemark-kubernetes-${process.pid}`;
  for (const hierarchy of hierarchies()) mkdirSync(join(hierarchy, group), { recursive: true });
  const [program = '', ...args] = [
    ...[
      'setpriv',
      '--pdeathsig',
      'KILL',
      'unshare',
      '--mount',
      '--net',
      '--pid',
      '--fork',
      '--kill-child=KILL',
    ],
    ...[
      '--mount-proc',
      '--propagation',
      'private',
      'sh',
      join(folderOfTests, 'start.sh'),
      folder,
      programs,
      group,
    ],
  ];
  const first = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let words = '';
  for (const stream of [first.stdout, first.stderr])
    stream.on('data', (bytes: Buffer) => {
      words = `${words}${bytes}`.slice(-4_000);
    });
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  first.once('close', () => resolve());
  const close = async (): Promise<void> => {
    first.kill('SIGKILL');
    await gone;
    const isRemoved = (): boolean => {
      removeGroups(group);
      return !hierarchies().some((hierarchy) => existsSync(join(hierarchy, group)));
    };
    // The last processes are reaped a moment later.
    await waitFor('its control groups are empty', 20_000, isRemoved);
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  };
  try {
    await waitFor('the start of the cluster', 180_000, () => {
      if (first.exitCode !== null) throw new Error('it ended');
      return words.includes('ready\n');
    });
    const { stdout } = await run('pgrep', ['-f', `kube-apiserver .*${folder}/`]);
    const inside = [
      ...['nsenter', '--target', stdout.trim().split('\n')[0] ?? '', '--net', '--mount', '--pid', 'env'],
      ...['-C', process.cwd(), `PATH=${programs}:${process.env['PATH']}:/usr/sbin:/sbin`],
      `KUBECONFIG=${join(folder, 'admin.conf')}`,
    ];
    const [enter = '', ...entered] = inside;
    await waitFor('the node is ready', 120_000, async () => {
      const ready = '-o=jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}';
      return (await run(enter, [...entered, 'kubectl', 'get', 'nodes', ready])).stdout === 'True';
    });
    say(`Kubernetes ${version}: a node is ready (${folder}, removed at the end)`);
    return { inside, folder, close };
  } catch (error) {
    await close();
    throw new Error(`the cluster did not start:\n${words}`, { cause: error });
  }
};
