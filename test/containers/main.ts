import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { composeCommand } from '../support/containers/compose-program.ts';
import { openDockerEngine } from '../support/containers/docker-engine.ts';
import { sayWithTime } from '../support/containers/say.ts';
import { prepareImages } from '../support/containers/stand-ins.ts';

/**
 * `make test-containers`: finds or starts a Docker engine, prepares the images, and runs the tests that need both. What it
 * started has ended when it ends, however that comes.
 */
const say = sayWithTime();

const engine = await openDockerEngine(say);
let tests: ChildProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // After the tests, or in place of them, the engine is closed.
    if (tests === undefined) void engine.close().then(() => process.exit(1));
    else tests.kill(signal);
  });
}
try {
  Object.assign(process.env, engine.env);
  const compose = await composeCommand(say);
  const images = await prepareImages(say);
  say('the engine and the images are ready');
  const args = process.argv.slice(2);
  const projects = args.includes('--project') ? [] : ['containers', 'in-containers'];
  tests = spawn('vitest', ['run', ...projects.flatMap((name) => ['--project', name]), ...args], {
    stdio: 'inherit',
    env: {
      ...process.env,
      TIDEMARK_TEST_COMPOSE: JSON.stringify(compose),
      TIDEMARK_TEST_IMAGES: JSON.stringify(images),
      // The container that would remove others after a crash is an image too; an engine of its own ends with all of them.
      ...(engine.isOwn ? { TIDEMARK_TEST_DOCKER: 'own', TESTCONTAINERS_RYUK_DISABLED: 'true' } : {}),
    },
  });
  const [code]: unknown[] = await once(tests, 'close');
  process.exitCode = code === 0 ? 0 : 1;
} finally {
  await engine.close();
}
