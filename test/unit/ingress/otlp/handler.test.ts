import { describe, expect, it, vi } from 'vitest';
import type { ApplicationSource } from '../../../../src/directory/applications.ts';
import { tooManyLookUps } from '../../../../src/directory/find-once.ts';
import { keptByApplication } from '../../../../src/ingress/otlp/kept.ts';
import { Fault } from '../../../../src/model/fault.ts';
import { jsonRequest, openLine, statusOf } from '../../../support/otlp/line.ts';
import {
  applicationOf,
  createStubLines,
  directoryOf,
  tokenAttribute,
} from '../../../support/otlp/stub-lines.ts';

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
  // A body has room for 256 of them, and each is a read of the bus.
  it('are looked up a few at a time', async () => {
    const asked: string[] = [];
    let underWay = 0;
    let most = 0;
    const handle = openLine({
      ...{ receiver: 'otlp', known },
      lookUp: async (token) => {
        asked.push(token);
        most = Math.max(most, ++underWay);
        await Promise.resolve();
        underWay--;
        return applicationOf(8);
      },
    });
    expect(statusOf(await handle(jsonRequest(exportOf([valid, ...tokens.slice(1)]))))).toBe(200);
    expect(asked).toEqual(tokens.slice(1));
    expect(most).toBeLessThanOrEqual(16);
  });

  it('are given up after a few where none is valid', async () => {
    const asked: string[] = [];
    const handle = openLine({
      ...{ receiver: 'otlp', known },
      lookUp: async (token) => {
        asked.push(token);
        return undefined;
      },
    });
    expect(statusOf(await handle(jsonRequest(exportOf(tokens))))).toBe(401);
    expect(asked).toEqual(tokens.slice(0, 3));
    asked.length = 0;
    expect(statusOf(await handle(jsonRequest(exportOf([...tokens.slice(1), valid]))))).toBe(200);
    expect(asked).toEqual(tokens.slice(1));
  });

  // An answer of 200 with rejected items is for good: exporters do not repeat it.
  it('have their request sent again while too many are looked up, of senders with no valid one as failures', async () => {
    const handle = openLine({
      ...{ receiver: 'otlp', known },
      lookUp: async (_, isKnown) => {
        throw new Fault('transient', tooManyLookUps, isKnown === true ? 'known' : 'stranger');
      },
    });
    const ask = async (of: readonly string[], header?: string) => {
      const reply = await handle(jsonRequest(exportOf(of), header));
      return [statusOf(reply), /known|stranger/.exec(String(reply.body))?.[0]];
    };
    const statuses: unknown[] = [];
    for (let request = 0; request < 21; request++) statuses.push((await ask(['unknown']))[0]);
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 503), 429]);
    expect(await ask(['unknown', valid], valid)).toEqual([503, 'known']);
    // Its address is limited no longer.
    expect(await ask(['unknown'])).toEqual([503, 'stranger']);
  });

  it('of a sender with a valid one in the body count as those of a known sender, and are no failures', async () => {
    const handle = openLine({
      ...{ receiver: 'otlp', known },
      lookUp: async () => {
        throw new Fault('transient', tooManyLookUps, 'too many');
      },
    });
    const statuses: number[] = [];
    for (let request = 0; request < 30; request++)
      statuses.push(statusOf(await handle(jsonRequest(exportOf(['unknown', valid])))));
    expect(statuses).toEqual(Array.from({ length: 30 }, () => 503));
  });

  // The token of a header says nothing about those of the body.
  it('do not keep off an export with a valid one in its body while too many are looked up', async () => {
    const handle = openLine({
      ...{ receiver: 'otlp', known },
      lookUp: async () => {
        throw new Fault('transient', tooManyLookUps, 'too many');
      },
    });
    const ask = async (body: unknown) => statusOf(await handle(jsonRequest(body, 'not in memory')));
    expect(await ask(exportOf([valid]))).toBe(200);
    // Items that the token of the header may be valid for are not rejected for good.
    const withoutToken = {
      resourceSpans: [...exportOf([valid]).resourceSpans, { scopeSpans: [{ spans: [{}] }] }],
    };
    expect(await ask(withoutToken)).toBe(503);
    expect(await ask({ resourceSpans: [] })).toBe(503);
  });

  it('of a header have an export with a resource of its own sent again, which has its identity from it', async () => {
    const published = vi.fn(async () => false);
    const handle = (application: ApplicationSource) =>
      createStubLines({
        directory: directoryOf(
          (token) => (token === valid ? application : undefined),
          async (token) => {
            if (token === 'wrong') return undefined;
            throw new Fault('transient', tooManyLookUps, 'too many');
          },
        ),
        publish: published,
        failuresMax: 1,
      }).lineOf('traces', 'otlp');
    const taking = handle(applicationOf(7));
    const withoutItems = { resourceSpans: [...exportOf([valid]).resourceSpans, {}] };
    // Such a sender has a valid token: these are no failures of its address.
    for (let request = 0; request < 3; request++)
      expect(statusOf(await taking(jsonRequest(withoutItems, 'not in memory')))).toBe(503);
    // What a permanent refusal by the other application would lose.
    const refusing = handle({ ...applicationOf(7), isEnabled: false });
    expect(statusOf(await refusing(jsonRequest(withoutItems, 'not in memory')))).toBe(503);
    expect(published).not.toHaveBeenCalled();
    // The header owns nothing here.
    expect(statusOf(await taking(jsonRequest(exportOf([valid, 'wrong']), 'not in memory')))).toBe(200);
    expect(published).toHaveBeenCalledOnce();
  });

  it('are waited for until the deadline of the answer, and no longer', async () => {
    const handle = openLine({
      ...{ receiver: 'otlp', known, deadlineMs: 100 },
      lookUp: () => new Promise(() => {}),
    });
    expect(statusOf(await handle(jsonRequest(exportOf(tokens))))).toBe(503);
  });
});

// The sender has given up by then, and sends again.
it('a token of a header that is not in memory is waited for until the answer has to leave, and no longer', async () => {
  const handle = openLine({ ...{ receiver: 'grpc', known }, lookUp: () => new Promise(() => {}) });
  const request = Object.assign(jsonRequest({}, 'unknown'), { answerBy: performance.now() + 100 });
  expect(statusOf(await handle(request))).toBe(503);
});

// Under the identity of an accepted try its repeat would not store what this one drops.
it('a token of a header that is found only for a resource has its items without a token stored too', async () => {
  let lookUps = 0;
  const kept: ReadonlyMap<number, number>[] = [];
  const lines = createStubLines({
    directory: directoryOf(
      () => undefined,
      async () => (++lookUps === 1 ? undefined : applicationOf(7)),
    ),
    publish: async ({ encoded }) => {
      kept.push(keptByApplication(encoded.runs));
      return false;
    },
  });
  const nanos = `${Date.now()}000000`;
  const span = {
    ...{ traceId: 'b'.repeat(32), spanId: 'b'.repeat(16), name: 's' },
    ...{ startTimeUnixNano: nanos, endTimeUnixNano: nanos },
  };
  const resources = exportOf([valid]).resourceSpans.map(({ resource }) => resource);
  const body = {
    resourceSpans: [...resources, {}].map((resource) => ({ resource, scopeSpans: [{ spans: [span] }] })),
  };
  expect(statusOf(await lines.lineOf('traces', 'otlp')(jsonRequest(body, valid)))).toBe(200);
  expect(kept).toEqual([new Map([[7, 2]])]);
});
