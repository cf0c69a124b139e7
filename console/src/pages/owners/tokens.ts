import type { Kind } from './owner.ts';

/** Write tokens that this tab was shown, until it is loaded again: a reader who has just created an owner need not reveal its token. */
const shown = new Map<string, string>();

export const keepToken = (path: Kind['path'], id: number, token: string): void => {
  shown.set(`${path}/${id}`, token);
};

export const keptToken = (path: Kind['path'], id: number): string | undefined => shown.get(`${path}/${id}`);
