import { notStored, type Refused } from '../refused.ts';

/** Calls of a process that wait for their message: each holds up to 11 KB, and costs its client a few bytes. */
export const waitingCallsMax = 4096;

const tooMany: Refused = notStored('too many calls wait for their message, and this one waited longest');

/** A call whose message has not arrived. */
export type WaitingCall = { refuse(refused: Refused): void };

/** The calls of a process that wait for their message. A call too many takes the place of the oldest. */
export class WaitingCalls {
  /** The oldest first. */
  private readonly calls = new Set<WaitingCall>();

  add(call: WaitingCall): void {
    if (this.calls.size >= waitingCallsMax) {
      const [oldest] = this.calls;
      oldest?.refuse(tooMany);
    }
    this.calls.add(call);
  }

  refuseAll(refused: Refused): void {
    for (const call of [...this.calls]) call.refuse(refused);
  }

  /** Its message has arrived, or it is over. */
  remove(call: WaitingCall): void {
    this.calls.delete(call);
  }
}
