import { counterNames, recordKeys, systemKeys } from '../../directory/keys.ts';
import { key as adminTokens, mergedTokens } from '../tokens/admin-token-state.ts';

const numbers: readonly string[] = [systemKeys.boot, ...counterNames.map(systemKeys.counter)];

/**
 * What a key is to hold that a process wrote into a bucket that was away: it took the installation for a new one. The identity key stays
 * the old one, tokens are those of both, and numbers the larger. Undefined for keys whose later value holds.
 */
export const mergedValue = (key: string, kept: unknown, found: unknown): unknown => {
  if (key === recordKeys.identityKey) return kept;
  if (key === adminTokens) return mergedTokens(kept, found);
  if (numbers.includes(key)) return Math.max(Number(kept), Number(found));
  return undefined;
};
