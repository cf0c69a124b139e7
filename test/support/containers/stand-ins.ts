import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createInstaller } from '../../../src/embedded/install.ts';
import { exists } from '../../../src/runtime/files.ts';
import { built, nicely } from '../clients/builds.ts';
import { service } from '../deploy/compose.ts';
import { nodeImage } from '../deploy/dockerfile.ts';
import { docker } from './docker.ts';
import type { Say } from './say.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../../..');
const recipes = join(root, 'test/containers/stand-ins');

/** What the tests need an image for: the base of the project's own image, and the engines of the compose stack. */
export const imageNames = ['node', 'nats', 'questdb', 'clickhouse'] as const;
export type ImageName = (typeof imageNames)[number];

/** The image to use for each. */
export type Images = Readonly<Record<ImageName, string>>;

/** The names by which the Dockerfile and the compose stack call the official images. */
export const officialImages = (): Images => ({
  node: nodeImage(),
  nats: service('nats').image,
  questdb: service('questdb').image,
  clickhouse: service('clickhouse').image,
});

const debian = 'bookworm';
/** For QuestDB, for the health checks, for Node's binary. */
const debianPackages = ['ca-certificates', 'openjdk-17-jre-headless', 'wget', 'libatomic1'];

/** A minimal Debian with Java and wget, as a tar in the cache; made by the first call. */
const debianRoot = (): Promise<string> =>
  built({
    name: 'debian-root',
    sources: [],
    key: [debian, ...debianPackages].join(' '),
    make: async (_, target) => {
      const folder = await mkdtemp(join(tmpdir(), 'tidemark-debian-'));
      try {
        const include = `--include=${debianPackages.join()}`;
        await nicely(folder, 'debootstrap', ['--variant=minbase', include, debian, join(folder, 'root')]);
        const needless = [
          'var/cache/apt',
          'var/lib/apt/lists',
          'usr/share/doc',
          'usr/share/man',
          'usr/share/locale',
        ];
        for (const path of needless) await rm(join(folder, 'root', path), { recursive: true, force: true });
        await nicely(folder, 'tar', ['-C', join(folder, 'root'), '-cf', join(target, 'root.tar'), '.']);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  });

/** The folder of the npm that installs this project: that of the machine. */
const npmFolder = async (): Promise<string> => {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'npm');
    if (!(await exists(path))) continue;
    const program = await realpath(path);
    if (program.endsWith('/npm/bin/npm-cli.js')) return resolve(program, '../..');
  }
  throw new Error('there is no npm on this machine');
};

/** A package as this project resolves it, from the folder of `from`. */
const packageFolder = (name: string, from = import.meta.url): string => {
  const parent = createRequire(from);
  try {
    return dirname(parent.resolve(`${name}/package.json`));
  } catch {
    return join(root, 'node_modules', name);
  }
};

const copyPackages = async (to: string): Promise<void> => {
  const names = ['zod', 'ffi-rs', `@yuuang/ffi-rs-linux-${process.arch}-gnu`];
  for (const name of names) await cp(packageFolder(name), join(to, name), { recursive: true });
};

/** What each image copies, put beside its recipe. */
const contents: Readonly<Record<ImageName, (folder: string) => Promise<void>>> = {
  node: async (folder) => {
    await cp(join(root, 'node_modules/node/bin/node'), join(folder, 'node'), { dereference: true });
    await cp(await npmFolder(), join(folder, 'npm'), { recursive: true });
    // npm in a build trusts what this machine trusts: a proxy may have an authority of its own.
    await cp('/etc/ssl/certs/ca-certificates.crt', join(folder, 'ca-certificates.crt'), {
      dereference: true,
    });
  },
  nats: async (folder) => {
    await cp(await createInstaller().nats(), join(folder, 'nats-server'));
  },
  questdb: async (folder) => {
    await cp((await createInstaller().questdb()).jar, join(folder, 'questdb.jar'));
  },
  clickhouse: async (folder) => {
    await cp(await createInstaller().clickhouse(), join(folder, 'libchdb.so'));
    await cp(join(recipes, 'clickhouse-client.sh'), join(folder, 'clickhouse-client.sh'));
    const app = join(folder, 'app');
    await cp(join(root, 'src'), join(app, 'src'), { recursive: true });
    await cp(join(root, 'package.json'), join(app, 'package.json'));
    await mkdir(join(app, 'test/containers/stand-ins'), { recursive: true });
    const server = 'test/containers/stand-ins/clickhouse.ts';
    await cp(join(root, server), join(app, server));
    await copyPackages(join(app, 'node_modules'));
  },
};

/** How the stand-in of this name is called. */
export const tagOf = (name: string): string => `tidemark-stand-in/${name}`;

const importDebian = async (say: Say): Promise<void> => {
  say('stand-ins: a minimal Debian (debootstrap, once in the cache) …');
  const tar = join(await debianRoot(), 'root.tar');
  await docker('import', '--change', 'ENV LANG=C.UTF-8', tar, tagOf('debian'));
};

const buildStandIn = async (name: ImageName): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), `tidemark-stand-in-${name}-`));
  try {
    await cp(join(recipes, `${name}.Dockerfile`), join(folder, 'Dockerfile'));
    const entrypoint = `${name}-entrypoint.sh`;
    if (await exists(join(recipes, entrypoint)))
      await cp(join(recipes, entrypoint), join(folder, entrypoint));
    await contents[name](folder);
    // The builder that the daemon itself has: the recipes need nothing of a newer one.
    const env = { ...process.env, DOCKER_BUILDKIT: '0' };
    await run('docker', ['build', '--quiet', '--tag', tagOf(name), folder], { env, maxBuffer: 2 ** 26 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const pullTimeoutMs = 600_000;

const isPulled = (image: string, timeout = pullTimeoutMs): Promise<boolean> =>
  run('docker', ['pull', '--quiet', image], { timeout }).then(
    () => true,
    () => false,
  );

/** Pulls the official images; where that is not possible, builds the stand-ins, and says which is which. */
export const prepareImages = async (say: Say): Promise<Images> => {
  const official = officialImages();
  // The smallest first: without a registry one refusal is enough.
  const isRegistry = await isPulled(official.nats, 60_000);
  const images: Record<ImageName, string> = { ...official };
  for (const name of imageNames) {
    if (isRegistry && (await isPulled(official[name]))) {
      say(`${name}: official image ${official[name]}`);
      continue;
    }
    if (!Object.values(images).some((image) => image.startsWith(tagOf('')))) await importDebian(say);
    if (name === 'clickhouse' && images.node === official.node)
      await docker('tag', official.node, tagOf('node'));
    const startedAt = performance.now();
    await buildStandIn(name);
    images[name] = tagOf(name);
    say(
      `${name}: stand-in for ${official[name]} (${((performance.now() - startedAt) / 1000).toFixed(0)} s): that image cannot be pulled`,
    );
  }
  return images;
};

/** The images that the run prepared; without that the official ones. */
export const imagesOfRun = (): Images => {
  const given = process.env['TIDEMARK_TEST_IMAGES'];
  return given === undefined ? officialImages() : { ...officialImages(), ...JSON.parse(given) };
};

/** Whether an image is a stand-in. */
export const isStandIn = (image: string): boolean => image.startsWith(tagOf(''));
