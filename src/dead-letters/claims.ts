import type { Bus } from '../bus/connection.ts';
import { isConflict, type KvBucket, type Stored, unreadable, untilWritten } from '../bus/kv.ts';
import { eraseRevision } from '../bus/outbox.ts';
import { Fault } from '../model/fault.ts';
import type { Letter } from './dead-letter.ts';

/** An act of an operator on a dead letter. */
export type Action = 'redrive' | 'purge';

const claimTries = 20;
/** Keys of the bucket of claims: erased without a marker, because there is one for each dead letter. */
export const claimPrefix = 'dead_letter.';

const keyOf = (sequence: number): string => `${claimPrefix}${sequence}`;

/** Whether an act on this dead letter was begun and has not ended. */
export const isActBegun = async (claims: Pick<KvBucket, 'get'>, sequence: number): Promise<boolean> =>
  (await claims.get(keyOf(sequence))) !== undefined;

const busy = (sequence: number, action: Action): Fault =>
  new Fault(
    'permanent',
    'dead_letter_busy',
    action === 'redrive'
      ? `a redrive of dead letter ${sequence} is unfinished, and its rows may be stored already: redrive it again to finish`
      : `a purge of dead letter ${sequence} is unfinished: purge it again to finish`,
  );

const unknownAct = (sequence: number): Fault =>
  new Fault(
    'permanent',
    'dead_letter_busy',
    `an act on dead letter ${sequence} may be unfinished: ${keyOf(sequence)} in KV cannot be read; delete that key once none is`,
  );

/** `isRepeated`: the same action was begun before. `revision`: that of its key. `first`: that of the claim which equal acts took over. */
export type Claim = { readonly isRepeated: boolean; readonly revision: number; readonly first: number };

export type ClaimsDependencies = {
  readonly bus: Bus;
  /** Bucket with the action in progress on each dead letter, and the name of its key. */
  readonly claims: KvBucket;
  readonly claimsBucket: string;
  readonly now: () => number;
};

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

/** The revision of the claim that equal acts took over, of its present one. */
const firstOf = ({ value, revision }: Stored): number => {
  const first = fieldOf(value, 'first');
  return typeof first === 'number' ? first : revision;
};

/** The action in progress on each dead letter. */
export const createClaims = ({ bus, claims, claimsBucket, now }: ClaimsDependencies) => {
  /** Throws the permanent Fault `dead_letter_busy` where this claim is of the other action, or cannot be read. */
  const refuseOther = (sequence: number, value: unknown, action: Action): void => {
    // It may be the other action, and begun. Other dead letters are free.
    if (value === unreadable) throw unknownAct(sequence);
    const begun = typeof value === 'object' ? fieldOf(value, 'action') : action;
    if (begun !== action) throw busy(sequence, action === 'purge' ? 'redrive' : 'purge');
  };

  /**
   * The first process that stores an action decides it; the other action is refused until the first is finished. An equal act takes the
   * claim over: the act that it shares it with cannot cancel it any more.
   */
  const claim = ({ sequence }: Letter, action: Action): Promise<Claim> =>
    untilWritten(`the claim on dead letter ${sequence}`, claimTries, async () => {
      const key = keyOf(sequence);
      try {
        const revision = await claims.create(key, { action, at: now() });
        return { isRepeated: false, revision, first: revision };
      } catch (error) {
        if (!isConflict(error)) throw error;
        const begun = await claims.get(key);
        // Its act has ended meanwhile, or a replica does not have it yet.
        if (begun === undefined) throw error;
        refuseOther(sequence, begun.value, action);
        const first = firstOf(begun);
        const revision = await claims.update(key, { action, at: now(), first }, begun.revision);
        return { isRepeated: true, revision, first };
      }
    });

  const isBegun = ({ sequence }: Letter): Promise<boolean> => isActBegun(claims, sequence);

  /** Throws the permanent Fault `dead_letter_busy` where the other action was begun; claims nothing. */
  const requireFree = async ({ sequence }: Letter, action: Action): Promise<void> => {
    const begun = await claims.get(keyOf(sequence));
    if (begun !== undefined) refuseOther(sequence, begun.value, action);
  };

  /** Takes back this claim of an act that has done nothing; leaves one that an equal act has taken over. */
  const cancel = ({ sequence }: Letter, { revision }: Claim): Promise<boolean> =>
    eraseRevision(bus, claimsBucket, keyOf(sequence), revision);

  /** Ends this claim, also where an equal act has taken it over; false where an equal act has ended it. */
  const end = async ({ sequence }: Letter, { revision, first }: Claim): Promise<boolean> => {
    const key = keyOf(sequence);
    if (await eraseRevision(bus, claimsBucket, key, revision)) return true;
    for (let tries = 0; tries < claimTries; tries++) {
      const taken = await claims.get(key);
      // Its act has ended it, or a later act began another one.
      if (taken === undefined || firstOf(taken) !== first) return false;
      if (await eraseRevision(bus, claimsBucket, key, taken.revision)) return true;
    }
    return false;
  };
  return { claim, isBegun, requireFree, cancel, end };
};
