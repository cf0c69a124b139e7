import type { Peer } from '../../http/incoming.ts';
import { notStored, type Refused } from '../refused.ts';

/** Calls of a process that wait for their message: each holds up to 11 KB, and costs its client a few bytes. */
export const waitingCallsMax = 4096;

const tooMany: Refused = notStored(
  'too many calls wait for their message, and this one waited longest on the connection with the most of them',
);

/** A call whose message has not arrived. */
export type WaitingCall = {
  readonly socket: Peer;
  /** Whether its message has begun, and nobody reads it so far. */
  readonly isUnread: boolean;
  refuse(refused: Refused): void;
};

/**
 * The calls of a process that wait for their message. A call too many takes the place of the oldest one of the connection with the
 * most, so that a client of many cheap calls ends its own, and no upload of another one.
 */
export class WaitingCalls {
  private size = 0;
  /** Of each connection, the oldest first. */
  private readonly calls = new Map<Peer, Set<WaitingCall>>();
  /** The connections by their number of calls, from one to `most`: a look at all for each call too many would itself be a load. */
  private readonly byCount: Set<Peer>[] = [];
  private most = 0;

  add(call: WaitingCall): void {
    const ofPeer = this.calls.get(call.socket) ?? new Set();
    this.calls.set(call.socket, ofPeer.add(call));
    this.size++;
    this.count(call.socket, ofPeer.size - 1, ofPeer.size);
    if (this.size > waitingCallsMax) this.oldest()?.refuse(tooMany);
  }

  /** Refuses all but those that are awaited. */
  refuseAll(refused: Refused, isAwaited: (call: WaitingCall) => boolean): void {
    for (const calls of [...this.calls.values()])
      for (const call of [...calls]) if (!isAwaited(call)) call.refuse(refused);
  }

  /** Its message has arrived, or it is over. */
  remove(call: WaitingCall): void {
    const ofPeer = this.calls.get(call.socket);
    if (ofPeer?.delete(call) !== true) return;
    if (ofPeer.size === 0) this.calls.delete(call.socket);
    this.size--;
    this.count(call.socket, ofPeer.size + 1, ofPeer.size);
  }

  private count(peer: Peer, before: number, now: number): void {
    this.byCount[before]?.delete(peer);
    if (now > 0) {
      const others = this.byCount[now] ?? new Set();
      this.byCount[now] = others.add(peer);
    }
    this.most = Math.max(this.most, now);
    // One call at a time comes or goes, so a connection that had the most has one less.
    if (this.byCount[this.most]?.size === 0) this.most--;
  }

  private oldest(): WaitingCall | undefined {
    const [peer] = this.byCount[this.most] ?? [];
    if (peer === undefined) return undefined;
    const [call] = this.calls.get(peer) ?? [];
    return call;
  }
}
