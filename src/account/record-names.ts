import { identityBit } from '../model/uid.ts';

/** SQL: the lower half of a name, which lines of earlier programs have. */
export const lowerHalf = (name: string): string => `bitAnd(${name}, 4294967295)`;

/**
 * SQL: what names a record among those of its owner: the uid at which its message begins. Of a counted request its upper half holds the
 * epoch of the receiver, so it is never 0, and no other message has it. Of a hashed base the upper half says only that it is one: the
 * lower bits of a hash differ by themselves.
 */
export const recordName = `if(base >= ${identityBit}, bitOr(toUInt64(${identityBit}), ${lowerHalf('base + first')}), base + first)`;

/** SQL: what a settled line names its record by; of a line of an earlier program the lower half alone, 0 where it names none. */
export const namedRecord = 'bitOr(bitShiftLeft(toUInt64(record_high), 32), toUInt64(record))';
