import { randomBytes } from 'node:crypto';
import { appendFile, lstat, open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { z } from 'zod';
import { errorText, Fault } from '../model/fault.ts';
import { unwritable } from '../runtime/files.ts';
import { adminClient } from './client.ts';
import { addJsonOption, addSystemOption, type JsonOption, queryText, type SystemOption } from './options.ts';
import { printAnswer, printFields, printJson } from './output.ts';

const exportedSchema = z.object({
  custom_reports: z.record(z.string(), z.unknown()),
  applications: z.record(z.string(), z.unknown()),
});
const importedSchema = z.object({ created: z.number(), unchanged: z.number() });

/** Documents can be large, and an import makes every table. */
const backupTimeoutMs = 600_000;

const writeBeside = async (file: string, content: string): Promise<void> => {
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
};

const standardOutput = /^\/(dev\/stdout|dev\/fd\/1|proc\/self\/fd\/1)$/;
/** What a process has open, as a link to it. Files of /dev/shm are files as everywhere. */
const ofSystem = /^\/(proc|dev(?!\/shm))\//;

/**
 * A file that only its owner may read, whole at any moment. What is there and no file, as a pipe or a device, is written into, and so
 * is what a link leads to. A file that a process has open, as by `3>> log` for /dev/fd/3, is written behind what it holds. Permanent
 * Fault when it cannot be written.
 */
export const writePrivately = async (file: string, content: string): Promise<void> => {
  const found = await lstat(file).catch(() => undefined);
  try {
    if (found?.isSymbolicLink() && ofSystem.test(resolve(file))) return await appendFile(file, content);
    // Of a link to nothing there is no path, but it can be written through.
    const path = found?.isSymbolicLink() ? await realpath(file).catch(() => undefined) : file;
    const isReplaced = path !== undefined && (found === undefined || (await stat(path)).isFile());
    if (isReplaced) await writeBeside(path, content);
    else await writeFile(file, content, { mode: 0o600 });
  } catch (error) {
    throw unwritable(file, error);
  }
};

const runExport = async ({ output, system }: SystemOption & { output?: string }): Promise<void> => {
  const request = { timeoutMs: backupTimeoutMs };
  const { value, json } = await adminClient().ask(
    exportedSchema,
    'GET',
    `/api/v1/export${queryText({ system })}`,
    request,
  );
  // Opened by its name a file has a position of its own: what this process prints afterwards would be written over the document.
  if (output === undefined || standardOutput.test(resolve(output))) return printJson(json);
  await writePrivately(output, `${JSON.stringify(json, null, 2)}\n`);
  printFields([
    ['written to', output],
    ['reports', String(Object.keys(value.custom_reports).length)],
    ['applications', String(Object.keys(value.applications).length)],
  ]);
};

const documentOf = async (file: string): Promise<unknown> => {
  const what = file === '-' ? 'standard input' : file;
  const content = await (file === '-' ? text(process.stdin) : readFile(file, 'utf8')).catch(
    (error: unknown) => {
      throw new Fault('permanent', 'file_unreadable', `${what} cannot be read (${errorText(error)})`, error);
    },
  );
  try {
    return JSON.parse(content);
  } catch {
    throw new Fault('permanent', 'file_unreadable', `${what} is not a JSON file of tidemark export`);
  }
};

const runImport = async (file: string, options: JsonOption): Promise<void> => {
  const request = { body: await documentOf(file), timeoutMs: backupTimeoutMs };
  const answer = await adminClient().ask(importedSchema, 'POST', '/api/v1/import', request);
  printAnswer(answer, options, ({ created, unchanged }) =>
    printFields([
      ['created', created],
      ['unchanged', unchanged],
    ]),
  );
};

/** `tidemark export` and `tidemark import`. */
export const register = (program: Command): void => {
  addSystemOption(
    program
      .command('export')
      .description('print all records as one JSON document, with their tokens: keep it secret')
      .option('--output <file>', 'write the document to this file; only its owner may read it')
      // As every command has it; the document is JSON without it, too.
      .addOption(new Option('--json').hideHelp()),
  ).action(runExport);
  addJsonOption(
    program
      .command('import')
      .description(
        'import the records of an export; refused as a whole if other records have the same ids; an unused demo gives way',
      )
      .argument('<file>', 'file of tidemark export; - for standard input'),
  ).action(runImport);
};
