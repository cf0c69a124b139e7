import { stat } from 'node:fs/promises';
import { errorText, Fault } from '../model/fault.ts';

/** Whether a file or folder exists. */
export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Whether an operation failed because its file does not exist. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** The permanent Fault `file_unwritable` for a file or folder. */
export const unwritable = (path: string, error: unknown): Fault =>
  new Fault('permanent', 'file_unwritable', `${path} cannot be written (${errorText(error)})`, error);
