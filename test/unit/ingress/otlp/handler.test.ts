import { describe, expect, it } from 'vitest';
import type { ApplicationSource } from '../../../../src/directory/applications.ts';
import { jsonRequest, openLine, statusOf } from '../../../support/otlp/line.ts';
import { applicationOf, tokenAttribute } from '../../../support/otlp/stub-lines.ts';

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

/** A request with a resource for each of these tokens. */
const exportOf = (tokens: readonly string[]) => ({
  resourceSpans: tokens.map((token) => ({
    resource: { attributes: [{ key: tokenAttribute, value: { stringValue: token } }] },
    scopeSpans: [{ spans: [{}] }],
  })),
});
const tokens = Array.from({ length: 256 }, (_, index) => `token ${index}`);

describe('the tokens of a body that are not in memory', () => {
  it('are looked up all at once', async () => {
    const asked: string[] = [];
    const { promise: answer, resolve } = Promise.withResolvers<ApplicationSource>();
    const handle = openLine({
      ...{ receiver: 'otlp', known },
      lookUp: (token) => {
        asked.push(token);
        if (asked.length === 255) resolve(applicationOf(8));
        return answer;
      },
    });
    expect(statusOf(await handle(jsonRequest(exportOf([valid, ...tokens.slice(1)]))))).toBe(200);
    expect(asked).toEqual(tokens.slice(1));
  });

  it('are waited for until the deadline of the answer, and no longer', async () => {
    const handle = openLine({
      ...{ receiver: 'otlp', known, deadlineMs: 100 },
      lookUp: () => new Promise(() => {}),
    });
    expect(statusOf(await handle(jsonRequest(exportOf(tokens))))).toBe(503);
  });
});
