import { type Answer, call } from '../../api/client.ts';
import { useAct } from '../../api/use.ts';
import { currentSession } from '../../shell/session.ts';
import type { Kind } from './owner.ts';
import type { TabProps } from './pieces.tsx';

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

export type Revealed = Answer<`/api/v1/${Kind['base']}/{id}/reveal-token`, 'post'>;

/** Reveals the write token of an owner. */
export const useReveal = ({ kind, owner }: TabProps, onShown: (shown: Revealed) => void) =>
  useAct(async () => {
    const { base, id } = owner.tokened;
    const { data } = await call('post', `/api/v1/${base}/{id}/reveal-token`, { path: { id }, body: {} });
    keepToken(kind.path, id, data.token);
    onShown(data);
  });
