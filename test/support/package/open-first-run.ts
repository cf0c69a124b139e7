import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openTempFolder } from '../stack/temp-folder.ts';
import {
  blemishesOf,
  commandWith,
  firstRow,
  inShell,
  printedCommands,
  type Started,
  startStack,
  untilPrinted,
  userEnvironment,
} from './first-run.ts';

/** A user with a new folder, who starts the stack in it for the first time. */
export type FirstRun = {
  /** The folder that it all is in, and the one in it where the user works. */
  readonly temp: string;
  readonly folder: string;
  /** What the stack has printed; empty before it is started. */
  readonly banner: readonly string[];
  /** Sets variables for what runs from now on; undefined removes one. */
  set(variables: Readonly<Record<string, string | undefined>>): void;
  /** The value of a variable now. */
  variable(name: string): string | undefined;
  /** Runs lines of a shell in the folder; each has to succeed. Answers what they printed. */
  user(lines: string): Promise<string>;
  /** Runs a line until what it prints matches. */
  untilPrinted(line: string, expected: RegExp): Promise<void>;
  /** Starts the stack by this line, until the end of its banner. */
  start(line: string): Promise<void>;
  /** Runs each command of the banner, and its queries until they print a point and a span. */
  followBanner(): Promise<void>;
  /** The printed lines that a user would stumble over. */
  blemishes(): string[];
  stop(): Promise<void>;
};

/** `programs` is a folder below `temp` that comes first in the PATH. */
export const openFirstRun = async (programs?: string): Promise<FirstRun> => {
  const { path: temp, remove } = await openTempFolder();
  const folder = join(temp, 'folder');
  await mkdir(folder);
  let env = await userEnvironment(temp, programs === undefined ? '' : join(temp, programs));
  let stack: Started | undefined;
  const said: string[] = [];
  const user = async (lines: string): Promise<string> => {
    const { code, output } = await inShell(`set -e\n${lines}`, folder, env);
    said.push(output);
    expect({ lines, code, output }).toEqual({ lines, code: 0, output });
    return output;
  };
  return {
    temp,
    folder,
    get banner() {
      return stack?.lines ?? [];
    },
    set: (variables) => {
      env = { ...env, ...variables };
    },
    variable: (name) => env[name],
    user,
    untilPrinted: (line, expected) => untilPrinted(line, folder, env, expected),
    start: async (line) => {
      stack = await startStack(line, folder, env);
    },
    followBanner: async () => {
      const commands = printedCommands(stack?.lines ?? []);
      expect(commands.length).toBeGreaterThanOrEqual(4);
      for (const command of commands) await user(command);
      await untilPrinted(commandWith(commands, 'query points'), folder, env, firstRow.points);
      await untilPrinted(commandWith(commands, 'query traces'), folder, env, firstRow.spans);
    },
    blemishes: () => [...said, ...(stack?.lines ?? [])].flatMap(blemishesOf),
    stop: async () => {
      await stack?.stop();
      await remove();
    },
  };
};
