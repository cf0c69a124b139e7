import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { RoleProcess, Stack } from '../../test/support/stack/stack.ts';
import { withStack } from '../line.ts';
import { measureRate } from '../rate.ts';
import { grouped, tableLines } from '../table.ts';
import { byFunction, byRoom, type Call, callTreeOf, type Spent } from './call-tree.ts';
import { flameGraph } from './flame-graph.ts';
import { inspectedEnv, profileWhile } from './inspector.ts';
import { namedLoads } from './loads.ts';

/**
 * `make profile ROLE=ingress LOAD=spans-json`: profiles the main thread of a role while the whole line runs at full load on this
 * machine. Writes a flame graph (SVG) and the profile itself (`.cpuprofile`, for the tools of browsers), and prints where the time
 * goes.
 */
const { values } = parseArgs({
  options: {
    role: { type: 'string', default: 'ingress' },
    load: { type: 'string', default: 'points' },
    seconds: { type: 'string', default: '10' },
    to: { type: 'string', default: 'bench-results' },
    rows: { type: 'string', default: '30' },
  },
});
const root = resolve(import.meta.dirname, '../..');
const roles = ['ingress', 'transfer', 'metadata'] as const;
const warmSeconds = 4;

const say = (line = ''): void => {
  process.stdout.write(`${line}\n`);
};

const fail = (why: string): never => {
  process.stderr.write(`${why}\n`);
  process.exit(1);
};

const roleOf = (stack: Stack, name: string): RoleProcess | undefined =>
  ({ ingress: stack.ingress[0], transfer: stack.transfer[0], metadata: stack.metadata })[name];

const printSpent = (head: string, spent: readonly Spent[], top: Call, items: number): void => {
  const rows = spent.map(({ name, selfMs }) => [
    name,
    `${((100 * selfMs) / top.totalMs).toFixed(1)} %`,
    ((selfMs / items) * 1000).toFixed(3),
  ]);
  say();
  for (const line of tableLines([head, 'own time', 'CPU s per million'], rows)) say(line);
};

const write = (name: string, content: string): string => {
  const folder = resolve(values.to);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const load = namedLoads.get(values.load);
const seconds = Number(values.seconds);
if (!roles.some((name) => name === values.role)) fail(`unknown role ${values.role}: use ${roles.join(', ')}`);
else if (load === undefined) fail(`unknown load ${values.load}: use ${[...namedLoads.keys()].join(', ')}`);
else if (!(seconds > 0)) fail(`--seconds ${values.seconds} is no number of seconds`);
else
  await withStack(
    { durability: 'process', env: inspectedEnv },
    async (stack) => {
      const role = roleOf(stack, values.role);
      if (role === undefined) throw new Error(`the stack has no ${values.role}`);
      const subject = await load.open(stack);
      await measureRate(subject, warmSeconds, 0);
      const { profile, result } = await profileWhile(role, () => measureRate(subject, seconds, 0));
      const top = callTreeOf(profile, root);
      const title =
        `${values.role} under ${values.load}: ${grouped(result.storedPerSecond)} ${load.items}/s stored, ` +
        `${((top.totalMs / result.acknowledged) * 1000).toFixed(2)} s of the main thread per million ${load.items}`;
      say(title);
      printSpent('room', byRoom(top).slice(0, 20), top, result.acknowledged);
      printSpent('function', byFunction(top).slice(0, Number(values.rows)), top, result.acknowledged);
      const name = `${values.role}-${values.load}`;
      say();
      say(`flame graph: ${write(`${name}.svg`, flameGraph(top, title))}`);
      say(`profile:     ${write(`${name}.cpuprofile`, JSON.stringify(profile))}`);
    },
    true,
  );
