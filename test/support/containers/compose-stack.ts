import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { takePorts } from '../stack/ports.ts';
import { docker, inspected } from './docker.ts';
import { containerFilesMax } from './docker-engine.ts';
import { imagesOfRun } from './stand-ins.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../../..');

/** A checkout that an operator has: the files of the image, and deploy/. */
export type Checkout = { readonly folder: string; readonly image: string };

/** What the image is made of, and deploy/ beside it: what `docker compose` reads. */
const checkoutPaths = [
  ...['package.json', 'package-lock.json', 'LICENSE', 'tsconfig.json', 'src', 'console', 'docs/runbook.md'],
  ...['bin', 'schemas', 'pipelines', 'deploy'],
];

/** This program, as a folder that may be written. */
export const presentCheckout = (folder: string): Checkout => {
  for (const path of checkoutPaths) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    const isWanted = (from: string): boolean => !/\/deploy\/\.env$|\/console\/dist$/.test(from);
    cpSync(join(root, path), join(folder, path), { recursive: true, filter: isWanted });
  }
  return { folder, image: 'tidemark-test:present' };
};

/** Whether this clone has the revision. */
export const hasRevision = (revision: string): Promise<boolean> =>
  run('git', ['cat-file', '-e', `${revision}^{commit}`], { cwd: root }).then(
    () => true,
    () => false,
  );

/** The program of an earlier revision out of the history of this clone. */
export const earlierCheckout = async (folder: string, revision: string): Promise<Checkout> => {
  mkdirSync(folder, { recursive: true });
  await run(
    'sh',
    ['-c', `git archive ${revision} ${checkoutPaths.join(' ')} | tar -x -C "$1"`, 'sh', folder],
    {
      cwd: root,
    },
  );
  const dockerfile = join(folder, 'deploy/Dockerfile');
  // Earlier ones name the builder's frontend, an image that a machine without a registry does not have.
  writeFileSync(dockerfile, readFileSync(dockerfile, 'utf8').replace(/^# syntax=.*\n/, ''));
  return { folder, image: 'tidemark-test:earlier' };
};

/** The stack's services that have an image here; the others are Prometheus and Grafana. */
export const engineServices = ['nats', 'questdb', 'clickhouse'] as const;
export const roleServices = ['metadata', 'transfer', 'ingress'] as const;
export const services = [...engineServices, ...roleServices] as const;
export type ServiceName = (typeof services)[number];

export type Ports = Readonly<
  Record<'push' | 'otlp' | 'admin' | 'questdb' | 'questdbPg' | 'clickhouse', number>
>;

export const takeComposePorts = async (): Promise<Ports> => {
  const [push = 0, otlp = 0, admin = 0, questdb = 0, questdbPg = 0, clickhouse = 0] = await takePorts(6);
  return { push, otlp, admin, questdb, questdbPg, clickhouse };
};

/** npm in the build needs the registry, and the networks of an engine of the run's own reach nothing outside. */
const buildNetwork = process.env['TIDEMARK_TEST_DOCKER'] === 'own' ? 'network: host, ' : '';

/** What differs from deploy/compose.yaml here: images that are there, free ports, and no more open files than the daemon has. */
const overrides = (checkout: Checkout, ports: Ports): string => {
  const images = imagesOfRun();
  const published = (...pairs: readonly [number, number][]): string =>
    `ports: !override [${pairs.map(([from, to]) => `"127.0.0.1:${from}:${to}"`).join(', ')}]`;
  const lines: Readonly<Record<string, readonly string[]>> = {
    nats: [`image: ${images.nats}`],
    questdb: [
      `image: ${images.questdb}`,
      `ulimits: { nofile: ${containerFilesMax} }`,
      published([ports.questdb, 9000], [ports.questdbPg, 8812]),
    ],
    clickhouse: [
      `image: ${images.clickhouse}`,
      `ulimits: { nofile: ${containerFilesMax} }`,
      published([ports.clickhouse, 8123]),
    ],
    migrate: [`image: ${checkout.image}`, `build: { ${buildNetwork}args: { NODE_IMAGE: ${images.node} } }`],
    metadata: [`image: ${checkout.image}`, published([ports.admin, 10300])],
    transfer: [`image: ${checkout.image}`],
    ingress: [`image: ${checkout.image}`, published([ports.push, 10205], [ports.otlp, 4318])],
  };
  const text = Object.entries(lines).flatMap(([name, its]) => [
    `  ${name}:`,
    ...its.map((line) => `    ${line}`),
  ]);
  return `${['services:', ...text].join('\n')}\n`;
};

/** The stack of a checkout, by `docker compose` on its deploy/compose.yaml. */
export type ComposeStack = {
  compose(...args: readonly string[]): Promise<string>;
  /** The container of a service. */
  container(service: string): Promise<string>;
  /** A command of the program, inside of a role's container, as docs/operations.md has it. */
  tidemark(...args: readonly string[]): Promise<string>;
  /** A password that deploy/passwords.sh made. */
  secret(name: string): string;
};

export const composeStack = (command: readonly string[], checkout: Checkout, ports: Ports): ComposeStack => {
  const deploy = join(checkout.folder, 'deploy');
  const override = join(checkout.folder, 'override.yaml');
  writeFileSync(override, overrides(checkout, ports));
  const [program = '', ...before] = command;
  const files = ['-f', join(deploy, 'compose.yaml'), '-f', override];
  const compose = async (...args: readonly string[]): Promise<string> => {
    const all = [...before, '-p', 'tidemark-test', '--progress', 'plain', ...files, ...args];
    try {
      return (await run(program, all, { maxBuffer: 2 ** 26 })).stdout.trim();
    } catch (error) {
      // A failed build says why in what it wrote, not in its last line.
      if (!(error instanceof Error && 'stdout' in error)) throw error;
      const last = String(error.stdout).split('\n').slice(-40);
      throw new Error([error.message, ...last].join('\n'), { cause: error });
    }
  };
  // Images of earlier versions have no command of that name.
  const isNamed = readFileSync(join(deploy, 'Dockerfile'), 'utf8').includes('ENTRYPOINT ["tidemark"]');
  const itself = isNamed ? ['tidemark'] : ['node', 'src/main.ts'];
  return {
    compose,
    container: (name) => compose('ps', '--all', '--quiet', name),
    tidemark: (...args) => compose('exec', '-T', 'metadata', ...itself, ...args),
    secret: (name) => {
      const text = readFileSync(join(deploy, '.env'), 'utf8');
      const value = new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1];
      if (value === undefined) throw new Error(`deploy/.env has no ${name}`);
      return value;
    },
  };
};

/** Makes the passwords of a checkout; those of an earlier one stay, as when an operator pulls a new version. */
export const makePasswords = async (checkout: Checkout, earlier?: Checkout): Promise<void> => {
  const file = 'deploy/.env';
  if (earlier !== undefined && existsSync(join(earlier.folder, file)))
    cpSync(join(earlier.folder, file), join(checkout.folder, file));
  await run('sh', [join(checkout.folder, 'deploy/passwords.sh')]);
};

/** The health of a container: `healthy`, `starting`, `unhealthy`. */
export const healthOf = (container: string): Promise<string> =>
  inspected(container, 'if .State.Health}}{{.State.Health.Status}}{{else}}{{.State.Status}}{{end');

/** Bytes of an image. */
export const sizeOf = async (image: string): Promise<number> => Number(await inspected(image, '.Size'));

/** The lines that a service wrote last, for a failed test. */
export const lastWords = async (stack: ComposeStack, lines = 40): Promise<string> => {
  const ids = await docker(
    'ps',
    '--all',
    '--quiet',
    '--filter',
    'label=com.docker.compose.project=tidemark-test',
  );
  const states = await Promise.all(
    ids
      .split('\n')
      .map((id) => docker('inspect', '--format', '{{.Name}} {{.State.Status}} {{.State.ExitCode}}', id)),
  );
  return `${states.join('\n')}\n${await stack.compose('logs', '--no-color', '--tail', String(lines))}`;
};
