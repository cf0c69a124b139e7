import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Peer } from '../../../../src/http/incoming.ts';
import {
  type WaitingCall,
  WaitingCalls,
  waitingCallsMax,
} from '../../../../src/ingress/grpc/waiting-calls.ts';
import { notStored } from '../../../../src/ingress/refused.ts';
import { always } from '../../../support/properties.ts';

const create = () => {
  const waiting = new WaitingCalls();
  const refused: WaitingCall[] = [];
  const add = (socket: Peer): WaitingCall => {
    const call: WaitingCall = {
      socket,
      isUnread: false,
      refuse: () => {
        refused.push(call);
        waiting.remove(call);
      },
    };
    waiting.add(call);
    return call;
  };
  return { waiting, refused, add };
};

describe('a call too many that waits for its message', () => {
  // A client of cheap calls would otherwise end the uploads of all others.
  it('takes the place of the oldest one of the connection with the most, not of an older one of another', () => {
    const { refused, add } = create();
    const [honest, flood] = [{}, {}];
    add(honest);
    add(honest);
    const flooding = Array.from({ length: waitingCallsMax - 2 }, () => add(flood));
    expect(refused.length).toBe(0);
    add({});
    add(flood);
    expect(refused.map((call) => flooding.indexOf(call))).toEqual([0, 1]);
  });

  it('takes that of the oldest one where each connection has one', () => {
    const { refused, add } = create();
    const calls = Array.from({ length: waitingCallsMax }, () => add({}));
    add({});
    expect(refused.map((call) => calls.indexOf(call))).toEqual([0]);
  });

  it('finds the connection with the most also after others came and went', () => {
    const peers: readonly Peer[] = [{}, {}, {}, {}];
    const steps = fc.array(fc.tuple(fc.constantFrom(...peers), fc.boolean()), { maxLength: 60 });
    always(
      fc.property(steps, (some) => {
        const { waiting, refused, add } = create();
        const held: WaitingCall[] = [];
        for (const [peer, isOver] of some) {
          const mine = held.findIndex(({ socket }) => socket === peer);
          if (!isOver) held.push(add(peer));
          else if (mine >= 0) for (const call of held.splice(mine, 1)) waiting.remove(call);
        }
        const countOf = (peer: Peer): number => held.filter(({ socket }) => socket === peer).length;
        const most = Math.max(1, ...peers.map(countOf));
        while (held.length < waitingCallsMax) held.push(add({}));
        add({});
        const [victim] = refused;
        expect(refused).toHaveLength(1);
        expect(victim && countOf(victim.socket)).toBe(most);
        expect(victim === held.find(({ socket }) => socket === victim?.socket)).toBe(true);
      }),
    );
  });

  it('is none once others are over, and all are refused at once when the receiver stops', () => {
    const { waiting, refused, add } = create();
    const peer = {};
    const calls = Array.from({ length: waitingCallsMax }, () => add(peer));
    for (const call of calls.slice(1)) waiting.remove(call);
    for (const call of calls.slice(1)) waiting.remove(call);
    const further = add({});
    expect(refused.length).toBe(0);
    waiting.refuseAll(notStored('the receiver stops'), () => false);
    expect(refused.map((call) => [calls[0], further].indexOf(call))).toEqual([0, 1]);
  });
});
