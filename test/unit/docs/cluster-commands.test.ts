import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { createProgram } from '../../../src/cli/program.ts';
import { adminTokenPath } from '../../../src/config/settings.ts';
import { clusterCommandsOf, codeOf, documents, readDocument } from '../../support/docs-code.ts';

const root = resolve(import.meta.dirname, '../../..');
const all = new Set(documents.flatMap((path) => clusterCommandsOf(readDocument(path))));

const portSchema = z.looseObject({ port: z.number().optional() });
const resourceSchema = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ ports: z.array(portSchema).optional() }).optional(),
});

/** The objects of the manifests: everything in their files, because kustomize only adds names to it. */
const manifests = globSync('deploy/kubernetes/**/*.yaml', { cwd: root })
  .filter((path) => !path.includes('/values/'))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
const resources = manifests.flatMap(({ text }) =>
  parseAllDocuments(text).flatMap((document) => resourceSchema.safeParse(document.toJS()).data ?? []),
);
/** Values of a chart name secrets too. */
const values = globSync('deploy/kubernetes/values/*.yaml', { cwd: root }).map((path) =>
  readFileSync(join(root, path), 'utf8'),
);
const manifestText = [...manifests.map(({ text }) => text), ...values].join('\n');

const has = (kind: string, name: string): boolean =>
  resources.some((each) => each.kind === kind && each.metadata.name === name);

/** Namespaces of the manifests, and those that another command of the documents makes. */
const namespaces = new Set([
  ...resources.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => metadata.name),
  ...[...all].flatMap((line) => /^kubectl create namespace (\S+)$/.exec(line)?.[1] ?? []),
]);

const kinds: Readonly<Record<string, string>> = {
  deploy: 'Deployment',
  deployment: 'Deployment',
  deployments: 'Deployment',
  pods: 'Pod',
  statefulset: 'StatefulSet',
  service: 'Service',
  cronjob: 'CronJob',
  job: 'Job',
  jobs: 'Job',
};

const workload = (text: string | undefined): string[] => {
  const [kind = '', name = ''] = text?.split('/') ?? [];
  if (name === '') return ['it names no workload'];
  return has(kinds[kind] ?? '', name) ? [] : [`there is no ${text}`];
};

const sources = readFileSync(join(root, 'deploy/grafana/provisioning/datasources/tidemark.yaml'), 'utf8');
const tokenFile = basename(adminTokenPath(root));

/** Whether any object reads this key of a secret: by its name, or as a file of a mounted one. */
const isRead = (name: string, key: string): boolean => {
  if (manifestText.includes(`name: ${name}, key: ${key}`) || manifestText.includes(`/${name}/${key}`))
    return true;
  // The whole environment of Grafana, which its sources take their variables from.
  if (manifestText.includes(`envFromSecret: ${name}\n`)) return sources.includes(`$${key}\n`);
  const isMounted = manifestText.includes(`secretName: ${name}`);
  return isMounted && (manifestText.includes(`/${key}\n`) || key === tokenFile);
};

const unread = (name: string, key: string): string[] =>
  isRead(name, key) ? [] : [`nobody reads ${key} of ${name}`];

/** A secret is of use only where a manifest names it, with these keys. */
const secret = ([name = '', ...options]: readonly string[]): string[] =>
  options.flatMap((option) => {
    const [, key = ''] = /^--from-literal=([A-Za-z_.-]+)=\S+$/.exec(option) ?? [];
    if (key === '') return [`${option} is no literal`];
    return unread(name, key);
  });

/** A certificate: Kubernetes itself gives its two parts their keys. */
const tlsSecret = ([name = '', ...options]: readonly string[]): string[] => [
  ...(manifestText.includes(`secretName: ${name}`) ? [] : [`nobody reads ${name}`]),
  ...(options.join(' ') === '--cert=tls.crt --key=tls.key' ? [] : ['it is no certificate']),
];

const program = await createProgram();

/** The program in a container: its command with its options, and the services that it is sent to. */
const inContainer = (text: string): string[] => {
  const [main, name, ...rest] = text.split(' ');
  if (main !== 'tidemark') return [`there is no ${main}`];
  const command: Command | undefined = program.commands.find((each) => each.name() === name);
  if (command === undefined) return [`no command ${name}`];
  const options = [...command.options, ...program.options].map(({ long }) => long);
  const [sub = ''] = rest;
  if (command.commands.length > 0) {
    const below = command.commands.find((each) => each.name() === sub);
    return below === undefined ? [`no command ${name} ${sub}`] : [];
  }
  return rest.flatMap((word) => {
    if (word.startsWith('--')) return options.includes(word) ? [] : [`no option ${word}`];
    const { hostname, port } = new URL(word);
    const service = resources.find(({ kind, metadata }) => kind === 'Service' && metadata.name === hostname);
    const ports = service?.spec?.ports?.map((each) => each.port) ?? [];
    return ports.includes(Number(port)) ? [] : [`no service ${hostname} with port ${port}`];
  });
};

const file = (path: string | undefined): string[] =>
  existsSync(join(root, path ?? '-')) ? [] : [`there is no ${path}`];

/** `cluster` is the folder that the reader makes: docs/kubernetes.md, Your overlay. */
const overlay = (path: string | undefined): string[] =>
  path === 'cluster' ? [] : file(`${path}/kustomization.yaml`);

/** Charts come from repositories that the documents name. */
const chartFrom = (chart = ''): string[] => {
  const [repository] = chart.split('/');
  const isAdded = [...all].some((line) => line.startsWith(`helm repo add ${repository} https://`));
  return isAdded ? [] : [`no repository ${repository}`];
};

/** The chart makes them. */
const natsServers = 'statefulset/nats';

const kubectlVerbs: Readonly<Record<string, (words: readonly string[], line: string) => string[]>> = {
  get: ([kind = '', name]) => {
    // The operator of ClickHouse makes this one.
    if (kind === 'svc' && name === 'clickhouse-tidemark') return [];
    if (kinds[kind] === undefined) return [`${kind} is no kind`];
    return name === undefined || has(kinds[kind], name) ? [] : [`there is no ${kind} ${name}`];
  },
  rollout: ([verb = '', target]) => {
    if (!['status', 'undo', 'restart'].includes(verb)) return [`rollout ${verb}`];
    return target === natsServers ? [] : workload(target);
  },
  scale: ([target, replicas = '']) => [
    ...workload(target),
    ...(/^--replicas=\d+$/.test(replicas) ? [] : ['no number of replicas']),
  ],
  exec: ([target = ''], line) => {
    // A pod of an engine, with programs of its image.
    const [, set] = /^([a-z-]+)-\d+$/.exec(target) ?? [];
    if (set !== undefined) return workload(`statefulset/${set}`);
    return [...workload(target), ...inContainer(line.split(' -- ')[1] ?? '')];
  },
  apply: ([flag, path, ...more]) => {
    if (flag !== '-k') return [`apply ${flag}`];
    const [, label = 'tidemark/step', step] =
      /^-l (!?[\w/]+)(?:=([\w-]+))?$/.exec(more.join(' ').replaceAll("'", '')) ?? [];
    const isStep =
      label === '!tidemark/step' || step === undefined || manifestText.includes(`{ ${label}: ${step} }`);
    return [...(isStep ? [] : [`nothing has ${label}=${step}`]), ...overlay(path)];
  },
  // The chart makes that of NATS, whose host is in the secrets.
  'port-forward': ([target]) => (target === 'service/nats' ? [] : workload(target)),
  patch: ([kind = '', name = ''], line) =>
    kind === 'secret'
      ? [...line.matchAll(/\\"([a-z.-]+)\\":\\"/g)].flatMap(([, key = '']) => unread(name, key))
      : workload(`${kind}/${name}`),
  wait: ([condition, target = '']) => {
    // The first pod of a set.
    const [, set] = /^pod\/([a-z-]+)-0$/.exec(target) ?? [];
    if (set !== undefined && condition === '--for=delete') return workload(`statefulset/${set}`);
    return [`wait ${condition}`];
  },
  logs: ([target, flag, container]) => [
    ...workload(target),
    ...(flag === '-c' && manifestText.includes(`- name: ${container}\n`)
      ? []
      : [`no container ${container}`]),
  ],
  delete: ([kind = '', name = '', option]) => [
    ...workload(`${kind}/${name}`),
    ...(option === '--ignore-not-found' ? [] : [`delete ${option}`]),
  ],
  create: ([what, ...rest]) => {
    if (what === 'namespace') return [];
    if (what === 'job') return workload(rest[1]?.replace('--from=', ''));
    if (what === 'secret' && rest[0] === 'tls') return tlsSecret(rest.slice(1));
    return what === 'secret' && rest[0] === 'generic' ? secret(rest.slice(1)) : [`create ${what}`];
  },
};

const wrongWithKubectl = (line: string): string[] => {
  // What a shell puts in is one word.
  const words = line
    .replace(/\$\([^)]*\)/g, 'x')
    .split(' ')
    .slice(1);
  const inNamespace = words[0] === '-n';
  const namespace = inNamespace ? words[1] : undefined;
  const [verb = '', ...rest] = inNamespace ? words.slice(2) : words;
  const unknown = namespace === undefined || namespaces.has(namespace) ? [] : [`no namespace ${namespace}`];
  const check = kubectlVerbs[verb];
  // Every object of Tidemark is in a namespace; without -n the command would look in another one.
  const isBare = !inNamespace && !(verb === 'apply' || (verb === 'create' && rest[0] === 'namespace'));
  return [
    ...unknown,
    ...(isBare ? ['no namespace is named'] : []),
    ...(check === undefined ? [`kubectl ${verb} is not known here`] : check(rest, line)),
  ];
};

const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');

/** Only the base that the image has is to be pinned. */
const baseImage = (name: string): string[] =>
  dockerfile.includes(`ARG NODE_IMAGE=${name}\n`) ? [] : [`the base is not ${name}`];

const natsUsers = 'deploy/kubernetes/values/nats-users.yaml';

/** Without its users NATS lets everybody in. */
const wrongValues = (chart: string, line: string): string[] => {
  const named = [...line.matchAll(/--values (\S+)/g)].map(([, path = '']) => path);
  const isOpen = chart === 'nats/nats' && !named.includes(natsUsers);
  return [...named.flatMap(file), ...(isOpen ? [`NATS has no users without ${natsUsers}`] : [])];
};

const wrongWithOthers = (line: string): string[] => {
  const [, looked, , pinned] =
    /^docker (?:buildx imagetools inspect (\S+)|build -f (\S+) --build-arg NODE_IMAGE=(\S+)@sha256:\S+ -t tidemark \.)$/.exec(
      line,
    ) ?? [];
  if (looked !== undefined || pinned !== undefined) return baseImage(looked ?? pinned ?? '');
  if (/^helm repo (?:update|add [a-z-]+ https:\/\/\S+)$/.test(line)) return [];
  const [, chart] = /^helm upgrade --install \S+ (\S+)/.exec(line) ?? [];
  if (chart !== undefined) return [...chartFrom(chart), ...wrongValues(chart, line)];
  const [, recipe] = /^docker build -f (\S+) -t \S+ \.$/.exec(line) ?? [];
  if (recipe !== undefined) return file(recipe);
  if (/^docker push registry\.example\.com\/tidemark:\d+\.\d+\.\d+$/.test(line)) return [];
  const [, composeFile] = /^docker compose -f (\S+) /.exec(line) ?? [];
  if (composeFile !== undefined) return file(composeFile);
  return line === 'docker compose ps' ? [] : ['it is not known here'];
};

const wrongWith = (line: string): string[] =>
  line.startsWith('kubectl ') ? wrongWithKubectl(line) : wrongWithOthers(line);

// The API refuses another template under the name of a Job, and takes the same one without running it again.
it('the guide deletes each Job of a restore before it applies it, and QuestDB has ended before its files are written', () => {
  const [, restore = ''] = readDocument('docs/kubernetes.md').split('\n## Restore\n');
  const lines = codeOf(restore);
  const applied = lines.flatMap((line, index) => {
    const [, job] = /^kubectl apply -k deploy\/kubernetes\/restore -l tidemark\/step=(\S+)$/.exec(line) ?? [];
    return job === undefined ? [] : [{ job, before: lines[index - 1] }];
  });
  expect(applied).toEqual(
    ['restore-questdb', 'restore-nats'].map((job) => ({
      job,
      before: `kubectl -n tidemark delete job ${job} --ignore-not-found`,
    })),
  );
  const end = lines.indexOf('kubectl -n tidemark scale statefulset/questdb --replicas=0');
  expect(lines[end + 1]).toMatch(/^kubectl -n tidemark wait --for=delete pod\/questdb-0 /);
});

// These tests run without a cluster and a container engine: they compare names, namespaces, keys, ports and files with
// the manifests.
describe('every command for a cluster that a document names, which is not run', () => {
  it.each([...all])('names only parts of the manifests: %s', (line) => {
    expect(wrongWith(line)).toEqual([]);
  });

  it('is checked: a missing one is found', () => {
    expect(all.size).toBeGreaterThan(12);
    const wrong = [
      'kubectl -n nowhere get pods',
      'kubectl get pods',
      'kubectl -n tidemark get deployment transfers',
      'kubectl -n tidemark rollout undo',
      'kubectl -n tidemark scale deployment/nobody --replicas=4',
      'kubectl -n tidemark exec deploy/metadata -- tidemark doctor --push http://ingress:10206',
      'kubectl -n tidemark create secret generic tidemark-questdb --from-literal=pg-password=x',
      'kubectl -n tidemark patch secret tidemark-admin -p "{\\"stringData\\":{\\"token\\":\\"x\\"}}"',
      'kubectl -n tidemark create secret tls tidemark-nobody --cert=tls.crt --key=tls.key',
      'kubectl apply -k deploy/kubernetes/overlays/medium',
      'helm upgrade --install nats nats/nats --values deploy/kubernetes/values/nats.yaml',
      'helm upgrade --install nats nats/nats --values deploy/kubernetes/values/nats-large.yaml',
      'docker build -f deploy/Dockerfile --build-arg NODE_IMAGE=node:1@sha256:x -t tidemark .',
    ];
    expect(wrong.map(wrongWith).map(([first]) => first)).toEqual([
      'no namespace nowhere',
      'no namespace is named',
      'there is no deployment transfers',
      'it names no workload',
      'there is no deployment/nobody',
      'no option --push',
      'nobody reads pg-password of tidemark-questdb',
      'nobody reads token of tidemark-admin',
      'nobody reads tidemark-nobody',
      'there is no deploy/kubernetes/overlays/medium/kustomization.yaml',
      'there is no deploy/kubernetes/values/nats.yaml',
      'NATS has no users without deploy/kubernetes/values/nats-users.yaml',
      'the base is not node:1',
    ]);
  });
});
