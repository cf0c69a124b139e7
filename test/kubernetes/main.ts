import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { docker } from '../support/containers/docker.ts';
import { openDockerEngine } from '../support/containers/docker-engine.ts';
import { sayWithTime } from '../support/containers/say.ts';
import { officialImages, prepareImages, tagOf } from '../support/containers/stand-ins.ts';
import { type Cluster, clusterPrograms, openCluster } from '../support/kubernetes/cluster.ts';
import { image, laterTag, presentTag } from '../support/kubernetes/page.ts';

const run = promisify(execFile);

/**
 * `make test-kubernetes`: builds Kubernetes, starts a cluster of one node on this machine, gives it the images, and runs the
 * tests inside of its network. What it started has ended when it ends, however that comes.
 */
const say = sayWithTime();

/** An image that is one program. */
const buildProgramImage = async (programs: string, name: string): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), `tidemark-image-${name}-`));
  try {
    await cp(join(programs, name), join(folder, name));
    await writeFile(
      join(folder, 'Dockerfile'),
      `FROM scratch\nCOPY ${name} /${name}\nENTRYPOINT ["/${name}"]\n`,
    );
    await run('docker', ['build', '--quiet', '--tag', tagOf(name), folder]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** A tar of the images that the page's objects name, under those names; stand-ins where nothing can be pulled. */
const saveImages = async (programs: string, to: string): Promise<void> => {
  const engine = await openDockerEngine(say);
  Object.assign(process.env, engine.env, { DOCKER_BUILDKIT: '0' });
  try {
    const images = await prepareImages(say);
    const official = officialImages();
    const wanted = [official.nats, official.questdb, official.clickhouse];
    for (const name of ['nats', 'questdb', 'clickhouse'] as const)
      if (images[name] !== official[name]) await docker('tag', images[name], official[name]);
    const base = ['--build-arg', `NODE_IMAGE=${images.node}`, '--network', 'host'];
    await docker('build', '--quiet', '-f', 'deploy/Dockerfile', ...base, '-t', `${image}:${presentTag}`, '.');
    await docker('tag', `${image}:${presentTag}`, `${image}:${laterTag}`);
    for (const name of ['pause', 'dns']) await buildProgramImage(programs, name);
    const own = [`${image}:${presentTag}`, `${image}:${laterTag}`, tagOf('pause'), tagOf('dns')];
    await docker('save', '-o', to, ...wanted, ...own);
    say('the images are saved');
  } finally {
    await engine.close();
  }
};

let cluster: Cluster | undefined;
let tests: ChildProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // After the tests, or in place of them, the cluster is closed.
    if (tests === undefined) void cluster?.close().then(() => process.exit(1));
    else tests.kill(signal);
  });
}
const folder = await mkdtemp(join(tmpdir(), 'tidemark-images-'));
try {
  say('Kubernetes, etcd and CoreDNS: building with Go (a quarter of an hour, once in the cache) …');
  const programs = await clusterPrograms();
  const archive = join(folder, 'images.tar');
  await saveImages(programs, archive);
  cluster = await openCluster(programs, say);
  const [enter = '', ...inside] = cluster.inside;
  await run(enter, [...inside, 'ctr', '--namespace', 'k8s.io', 'images', 'import', archive], {
    maxBuffer: 2 ** 26,
  });
  await rm(folder, { recursive: true, force: true });
  say('the node has the images');
  // Its tests take minutes: each is shown when it has ended.
  const reporters = ['--reporter=verbose', '--reporter=./test/support/vitest/closing-line-reporter.ts'];
  const vitest = ['vitest', 'run', '--project', 'kubernetes', ...reporters, ...process.argv.slice(2)];
  tests = spawn(enter, [...inside, ...vitest], {
    stdio: 'inherit',
    env: { ...process.env, TIDEMARK_TEST_CLUSTER: cluster.folder },
  });
  const [code]: unknown[] = await once(tests, 'close');
  process.exitCode = code === 0 ? 0 : 1;
} finally {
  await cluster?.close();
  await rm(folder, { recursive: true, force: true });
}
