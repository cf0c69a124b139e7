import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  commandWith,
  firstRow,
  inShell,
  printedCommands,
  root,
  startStack,
  untilPrinted,
  userEnvironment,
} from '../test/support/package/first-run.ts';
import { anyPorts } from '../test/support/stack/any-ports.ts';

/** From the first command of README to the first row that a query prints. */
export type FirstRow = { readonly first_row: string; readonly seconds: number };

/** `make up` with this data folder, the push of the banner, and its query until the row is there. */
const timeFirstRow = async (clone: string, env: NodeJS.ProcessEnv, data: string): Promise<number> => {
  const startedAt = performance.now();
  const stack = await startStack('make up', clone, { ...env, TIDEMARK_DATA: data });
  try {
    const commands = printedCommands(stack.lines);
    const { code, output } = await inShell(commandWith(commands, 'tidemark snippet 1500001'), clone, env);
    if (code !== 0) throw new Error(`the push failed: ${output}`);
    await untilPrinted(commandWith(commands, 'query points'), clone, env, firstRow.points);
    return (performance.now() - startedAt) / 1_000;
  } finally {
    await stack.stop();
  }
};

/**
 * The first row of a new clone: with empty caches of npm, Go, Maven and the engines, and then in the same clone with a new
 * data folder. The first one downloads everything.
 */
export const measureFirstRow = async (): Promise<FirstRow[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-first-row-'));
  const home = join(folder, 'home');
  const clone = join(folder, 'tidemark');
  try {
    await mkdir(home);
    const own = await userEnvironment(folder, join(clone, 'bin'));
    const env = {
      ...own,
      ...anyPorts,
      HOME: home,
      npm_config_cache: join(home, '.npm'),
      GOPATH: join(home, 'go'),
      GOCACHE: join(home, '.cache', 'go-build'),
      // Its modules are read-only otherwise, and the folder could not be removed.
      GOFLAGS: '-modcacherw',
      MAVEN_ARGS: `-Dmaven.repo.local=${join(home, '.m2')}`,
    };
    const { code, output } = await inShell(`git clone --quiet ${root} ${clone}`, folder, env);
    if (code !== 0) throw new Error(output);
    const cold = await timeFirstRow(clone, env, join(folder, 'cold'));
    const warm = await timeFirstRow(clone, env, join(folder, 'warm'));
    return [
      { first_row: 'a new clone, empty caches', seconds: Math.round(cold * 10) / 10 },
      { first_row: 'set up before, new data folder', seconds: Math.round(warm * 10) / 10 },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
