import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { errorText, Fault } from '../model/fault.ts';
import { exists, isMissing } from '../runtime/files.ts';
import type { Engine } from './engine.ts';
import { ServiceStartError } from './service.ts';
import { addressesFile, upFolder } from './up-files.ts';

/** The restore that was begun in a data folder and is not complete. */
export type Restoring = z.output<typeof schema>;

const schema = z.strictObject({
  /** Of the backup. */
  id: z.string(),
  folder: z.string(),
});

const restoringFile = (dataFolder: string): string => join(dataFolder, 'restoring.json');

/** Undefined where none was begun, or the last one is complete. */
export const readRestoring = (dataFolder: string): Restoring | undefined => {
  const path = restoringFile(dataFolder);
  return existsSync(path) ? schema.parse(JSON.parse(readFileSync(path, 'utf8'))) : undefined;
};

export const noteRestoring = (dataFolder: string, restoring: Restoring): void =>
  writeFileSync(restoringFile(dataFolder), `${JSON.stringify(restoring)}\n`, { mode: 0o600, flush: true });

export const endRestoring = (dataFolder: string): void => rmSync(restoringFile(dataFolder), { force: true });

/** Permanent Fault `restore_unfinished`: roles on half of a backup would issue numbers again that its other half has. */
export const requireNoRestore = (dataFolder: string): void => {
  const restoring = readRestoring(dataFolder);
  if (restoring === undefined) return;
  throw new Fault(
    'permanent',
    'restore_unfinished',
    `the restore of ${restoring.folder} into ${dataFolder} is not complete: run tidemark up --engines-only, and tidemark restore ${restoring.folder} again`,
  );
};

const enginesOnlyFile = (dataFolder: string): string => join(upFolder(dataFolder), 'engines-only');

/** Notes that the running `up` has no roles, and whether its engines run yet. It is gone with the other files of `up`. */
export const noteEnginesOnly = (dataFolder: string, state: 'starting' | 'running'): void =>
  writeFileSync(enginesOnlyFile(dataFolder), state, { mode: 0o600 });

export const isEnginesOnly = (dataFolder: string): boolean => existsSync(enginesOnlyFile(dataFolder));

/** Whether the `up` that holds this folder has not yet noted what it runs, or runs no engines yet for a restore. */
export const isStarting = (dataFolder: string): boolean =>
  isEnginesOnly(dataFolder)
    ? readFileSync(enginesOnlyFile(dataFolder), 'utf8') === 'starting'
    : !existsSync(addressesFile(dataFolder));

const questdbFolder = (dataFolder: string): string => join(dataFolder, 'questdb');

/** A whole copy of QuestDB's folder that is to take the place of it: `restoredQuestdb` once it is complete. */
export const arrivingQuestdb = (dataFolder: string): string => join(dataFolder, 'questdb.arriving');
export const restoredQuestdb = (dataFolder: string): string => join(dataFolder, 'questdb.restored');

const pollMs = 250;
const startAgainMs = 1_000;
/** So often a QuestDB that ends by itself may do so for a reason that passes. */
const endsMax = 3;

/** Why QuestDB does not start on the restored folder. */
const failureFile = (dataFolder: string): string => join(dataFolder, 'questdb.failed');

/** Undefined where none is known. */
export const readRestoreFailure = (dataFolder: string): Promise<string | undefined> =>
  readFile(failureFile(dataFolder), 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });

export const forgetRestoreFailure = (dataFolder: string): Promise<void> =>
  rm(failureFile(dataFolder), { force: true });

/** Puts a restored folder in the place of QuestDB's, while QuestDB does not run. */
export const placeRestoredQuestdb = async (dataFolder: string): Promise<void> => {
  const restored = restoredQuestdb(dataFolder);
  if (!(await exists(restored))) return;
  await rm(questdbFolder(dataFolder), { recursive: true, force: true });
  await rename(restored, questdbFolder(dataFolder));
};

/**
 * Starts QuestDB on a folder of a restore that is not complete. It is tried again, unless QuestDB ends by itself each time: then
 * `readRestoreFailure` has the reason, and QuestDB starts on an empty folder, so that a restore can be repeated, of another backup, too.
 * `onError` gets why each start failed. Throws what the start on the empty folder throws.
 */
export const startQuestdbOfRestore = async (
  dataFolder: string,
  questdb: Engine,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> => {
  for (let ends = 0; !signal.aborted; ) {
    try {
      return await questdb.start();
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      if (error instanceof ServiceStartError && error.exit !== undefined) ends++;
      if (ends < endsMax) {
        await delay(startAgainMs, undefined, { signal }).catch(() => {});
        continue;
      }
      // Before QuestDB answers again, which `restore` would take for its success.
      await writeFile(failureFile(dataFolder), errorText(error));
      // A copy of the backup, which has it still.
      await rm(questdbFolder(dataFolder), { recursive: true, force: true });
      return questdb.start();
    }
  }
};

/** Restarts QuestDB on each restored folder that appears, until the signal is aborted; `onError` gets why a restart failed. */
export const watchForRestoredQuestdb = async (
  dataFolder: string,
  questdb: Engine,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> => {
  while (!signal.aborted) {
    try {
      if (await exists(restoredQuestdb(dataFolder))) {
        await questdb.stop();
        await placeRestoredQuestdb(dataFolder);
        await startQuestdbOfRestore(dataFolder, questdb, signal, onError);
      }
    } catch (error) {
      onError(error);
    }
    await delay(pollMs, undefined, { signal }).catch(() => {});
  }
};
