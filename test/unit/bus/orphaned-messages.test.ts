import { describe, expect, it } from 'vitest';
import { orphanedUpTo, type QueueLook } from '../../../src/bus/orphaned-messages.ts';

/** A queue that still has 3 of 100 acknowledged messages. */
const left: QueueLook = {
  messages: 3,
  begin: 1,
  firstSequence: 71,
  lastSequence: 120,
  consumers: 1,
  ackFloor: 100,
};

// A removal is final. Each of these states holds messages that may still be owed, or needs no repair.
describe('messages that a work queue kept although they were acknowledged', () => {
  it('is found when it is at or below the ack floor at two looks', () => {
    expect(orphanedUpTo(left, left)).toBe(100);
  });

  it('is found while newer messages come and go, up to the floor of the first look', () => {
    const later = { ...left, messages: 900, lastSequence: 5_000, ackFloor: 4_000 };
    expect(orphanedUpTo(left, later)).toBe(100);
  });

  it('reaches no further than the lower of two floors, should a floor ever fall', () => {
    expect(orphanedUpTo(left, { ...left, ackFloor: 80 })).toBe(80);
    expect(orphanedUpTo(left, { ...left, ackFloor: 70 })).toBeUndefined();
  });

  const nothing: [string, QueueLook | undefined, QueueLook][] = [
    ['at the first look', undefined, left],
    ['in an empty queue', left, { ...left, messages: 0 }],
    ['when all that is there is above the floor', left, { ...left, firstSequence: 101 }],
    [
      'when it was above the floor at the look before: it may be on its way out',
      { ...left, ackFloor: 70 },
      left,
    ],
    [
      'when the stream has lost what the floor counts',
      { ...left, lastSequence: 90 },
      { ...left, lastSequence: 90 },
    ],
    ['when a second consumer may be owed it', left, { ...left, consumers: 2 }],
    ['when there was a second consumer', { ...left, consumers: 2 }, left],
  ];
  it.each(nothing)('is not found %s', (_, before, now) => {
    expect(orphanedUpTo(before, now)).toBeUndefined();
  });
});
