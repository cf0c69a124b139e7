import { spawn } from 'node:child_process';
import { expect } from 'vitest';
import type { z } from 'zod';

/** The program of this run in few files, where the run has built it (`vitest/built-program.ts`). */
const built = process.env['BUILT_PROGRAM'];
const program =
  built === undefined
    ? [new URL('../../../bin/tidemark', import.meta.url).pathname]
    : [process.execPath, `${built}/main.js`];

/** What a command did. */
export type Outcome = { code: number | null; stdout: string; stderr: string };

/** Runs `tidemark` with these arguments in this environment. */
export const runCli = (args: readonly string[], env: NodeJS.ProcessEnv, input = ''): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const [command = '', ...first] = program;
    const child = spawn(command, [...first, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });

/** A command line: a text in quotation marks is one argument. */
const split = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');

/** The commands of one test file; lines are written as in a shell, without the program's name. */
export type Cli = {
  /** For any behaviour of the command. */
  run(line: string, env?: NodeJS.ProcessEnv): Promise<Outcome>;
  /** What it prints for people; it must work. */
  text(line: string): Promise<string>;
  /** What it prints with `--json`; it must work. */
  json<T>(schema: z.ZodType<T>, line: string): Promise<T>;
};

/** The command line in this environment. */
export const createCli = (env: () => NodeJS.ProcessEnv): Cli => {
  const run: Cli['run'] = (line, own = env()) => runCli(split(line), own);
  const text: Cli['text'] = async (line) => {
    const { code, stdout, stderr } = await run(line);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };
  return { run, text, json: async (schema, line) => schema.parse(JSON.parse(await text(`${line} --json`))) };
};
