import { stat } from 'node:fs/promises';
import { errorText, Fault } from '../model/fault.ts';

/** Whether a file or folder exists. */
export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Whether an operation failed with this code of the system. */
export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

/** Whether an operation failed because its file does not exist. */
export const isMissing = (error: unknown): boolean => hasCode(error, 'ENOENT');

/** Whether only root or the owner of a file or folder may do that to it. */
export const isNotPermitted = (error: unknown): boolean => hasCode(error, 'EPERM');

/** Whether the user of this process may not do that to a file or folder. */
export const isClosed = (error: unknown): boolean => isNotPermitted(error) || hasCode(error, 'EACCES');

/** The permanent Fault `file_unwritable` for a file or folder. */
export const unwritable = (path: string, error: unknown): Fault =>
  new Fault('permanent', 'file_unwritable', `${path} cannot be written (${errorText(error)})`, error);
