import { describe, expect, it } from 'vitest';
import { applicationOf, jsonRequest, openLine, statusOf } from '../../../support/otlp/line.ts';

const valid = 'a'.repeat(32);
const known = new Map([[valid, applicationOf(7)]]);

describe.each(['otlp', 'grpc'] as const)('an address with too many wrong tokens, over %s', (receiver) => {
  // In a cluster many senders share the address of a node.
  it('has the requests of another sender taken whose token in the header is in memory', async () => {
    const lookedUp: string[] = [];
    const handle = openLine({
      ...{ receiver, known },
      lookUp: async (token) => {
        lookedUp.push(token);
        return undefined;
      },
    });
    const wrong = async (count: number) =>
      Promise.all(
        Array.from({ length: count }, async () => statusOf(await handle(jsonRequest({}, 'wrong')))),
      );
    await wrong(40);
    lookedUp.length = 0;
    expect(await wrong(1)).toEqual([429]);
    expect(lookedUp).toEqual([]);
    expect(statusOf(await handle(jsonRequest({}, valid)))).toBe(200);
  });
});
