import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { adminTokenPath } from '../../config/settings.ts';
import { errorText, Fault } from '../../model/fault.ts';
import { hasCode, isMissing } from '../../runtime/files.ts';

const unwritable = (file: string, error: unknown): Fault =>
  new Fault('permanent', 'admin_token_unwritable', `${file} cannot be written: ${errorText(error)}`, error);

/** The token in the file; undefined where there is none. Permanent Fault when the file exists and cannot be read. */
export const readTokenFile = async (file: string): Promise<string | undefined> => {
  try {
    const token = (await readFile(file, 'utf8')).trim();
    return token === '' ? undefined : token;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new Fault(
      'permanent',
      'admin_token_unreadable',
      `${file} cannot be read: ${errorText(error)}`,
      error,
    );
  }
};

const writeDraft = async (file: string, token: string): Promise<string> => {
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  await writeFile(draft, `${token}\n`, { mode: 0o600, flag: 'wx' });
  return draft;
};

/** Creates a whole file at once, or returns false when another process was first. */
const writeOnce = async (file: string, token: string): Promise<boolean> => {
  const draft = await writeDraft(file, token);
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await unlink(draft);
  }
};

/** The token in the folder's file, which is made with a new one where there is none. Permanent Faults. */
export const tokenOfFolder = async (dataFolder: string, newToken: () => string): Promise<string> => {
  const file = adminTokenPath(dataFolder);
  const there = await readTokenFile(file);
  if (there !== undefined) return there;
  const token = newToken();
  try {
    await mkdir(dataFolder, { recursive: true });
    if (await writeOnce(file, token)) return token;
  } catch (error) {
    throw unwritable(file, error);
  }
  return (await readTokenFile(file)) ?? token;
};

/** A token beside the folder's file, which `put` makes the file; `drop` removes it. */
export type TokenDraft = {
  /** Returns the path of the file. Permanent Fault, which names the draft: it stays, as all that has the token. */
  put(): Promise<string>;
  drop(): Promise<void>;
};

/** Writes the token beside the folder's file, so that a folder that cannot be written shows before anything changes. Permanent Fault. */
export const draftTokenFile = async (dataFolder: string, token: string): Promise<TokenDraft> => {
  const file = adminTokenPath(dataFolder);
  try {
    await mkdir(dataFolder, { recursive: true });
    const draft = await writeDraft(file, token);
    return {
      put: async () => {
        try {
          await rename(draft, file);
        } catch (error) {
          throw new Fault(
            'permanent',
            'admin_token_unwritable',
            `${file} cannot be replaced: ${errorText(error)}. The new token is in ${draft}; move it there`,
            error,
          );
        }
        return file;
      },
      drop: () => unlink(draft),
    };
  } catch (error) {
    throw unwritable(file, error);
  }
};
