import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { ensureChromium } from '../clients/chromium.ts';
import { startStack } from '../stack/stack.ts';

/** The stack that all browser tests share: addresses, and the environment of commands that talk to it. */
export type ConsoleStack = {
  readonly chromium: string;
  readonly admin: string;
  readonly push: string;
  readonly otlp: string;
  readonly adminToken: string;
  readonly env: Readonly<Record<string, string>>;
  /** A server in the process that started the stack: see `changeRole`. */
  readonly control: string;
};

declare module 'vitest' {
  export interface ProvidedContext {
    consoleStack: ConsoleStack;
  }
}

/** In a test: the stack. */
export const consoleStack = (): ConsoleStack => inject('consoleStack');

/** Kills a role of the stack (`metadata`, `ingress-0`, `transfer-0`), or starts it again and waits until it is ready. */
export const changeRole = async (act: 'kill' | 'start', role: string): Promise<void> => {
  const answer = await fetch(`${consoleStack().control}/${act}/${role}`, { method: 'POST' });
  if (!answer.ok) throw new Error(`${act} ${role}: ${await answer.text()}`);
};

const run = promisify(execFile);

/** Path of Chromium; prints its version. Throws where there is none: a run without a browser has tested nothing. */
const findChromium = async (): Promise<string> => {
  const path = await ensureChromium();
  if (path === undefined) throw new Error('Chromium is missing: apt-get install chromium');
  const { stdout } = await run(path, ['--version']);
  process.stdout.write(`${stdout.trim()}\n`);
  return path;
};

/** The global set-up of the project: one stack for all files. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  Object.assign(process.env, project.config.env);
  const chromium = await findChromium();
  const stack = await startStack({
    traces: true,
    // Two dozen dead letters stop a consumer; it tries again by itself later than a journey lasts.
    pipelines: (_file, text) =>
      text
        .replace(/dead_letters_in_a_row_max: \d+/, 'dead_letters_in_a_row_max: 20')
        .replace(/pause_seconds: \d+/, 'pause_seconds: 600'),
  });
  const control = createServer((request, response) => {
    const [, act, name] = (request.url ?? '').split('/');
    const role = [stack.metadata, ...stack.ingress, ...stack.transfer].find((each) => each.name === name);
    const change = async (): Promise<void> => {
      if (role === undefined) throw new Error(`there is no role ${name}`);
      if (act === 'kill') return role.kill();
      role.start();
      await role.ready();
    };
    change().then(
      () => response.end(),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve));
  const at = (port = 0): string => `http://127.0.0.1:${port}`;
  const [ingress] = stack.ingress;
  const address = control.address();
  const controlPort = typeof address === 'object' ? address?.port : undefined;
  project.provide('consoleStack', {
    chromium,
    admin: at(stack.metadata.ports['api']),
    push: at(ingress?.ports['push']),
    otlp: at(ingress?.ports['otlp']),
    adminToken: stack.adminToken(),
    env: stack.env,
    control: at(controlPort),
  });
  return async () => {
    control.close();
    await stack.stop();
  };
};
