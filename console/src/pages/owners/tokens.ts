import { currentSession } from '../../shell/session.ts';
import type { Kind } from './owner.ts';

/**
 * Write tokens that this tab was shown, until it is loaded again: a reader who has just created an owner need not reveal its token.
 * The next one who logs in here does not see them.
 */
const shown = new Map<string, string>();

const keyOf = (path: Kind['path'], id: number): string => `${currentSession()?.token_id} ${path}/${id}`;

export const keepToken = (path: Kind['path'], id: number, token: string): void => {
  shown.set(keyOf(path, id), token);
};

export const keptToken = (path: Kind['path'], id: number): string | undefined => shown.get(keyOf(path, id));
