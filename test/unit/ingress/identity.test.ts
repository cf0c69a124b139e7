import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBaseCounter, requestIdentity } from '../../../src/ingress/identity.ts';
import { pushIdentity } from '../../../src/ingress/push/identity.ts';
import { counterEnd, uidText } from '../../../src/model/uid.ts';
import type { Run } from '../../../src/rules/points/encoded-points.ts';
import { protobufTraces } from '../../../src/rules/spans/protobuf-traces.ts';
import type { EncodedItems, ItemLimits, ItemsOwner } from '../../../src/wire/otlp/types.ts';
import { randomOf } from '../../support/otlp/plain/mutations.ts';
import { encodeOtlpProtobuf } from '../../support/otlp/protobuf.ts';
import { rowsOfTraces } from '../../support/otlp/span-blocks.ts';
import * as traces from '../../support/otlp/trace-source.ts';
import { always } from '../../support/properties.ts';
import * as push from '../../support/push/source.ts';
import { until } from '../../support/until.ts';

describe('bases of requests without identity', () => {
  /** A counter whose epochs are given by hand. */
  const handFed = () => {
    const waiting: ((boot: number) => void)[] = [];
    const counter = createBaseCounter(
      () => new Promise((resolve) => waiting.push(resolve)),
      () => {},
    );
    const give = async (boot: number): Promise<void> => {
      await until('an epoch is asked for', () => waiting.length > 0);
      waiting.shift()?.(boot);
      await until('it is taken', () => counter.isReady);
    };
    return { counter, give, asked: () => waiting.length };
  };

  it('are not given before there is an epoch, and never overlap', async () => {
    const { counter, give } = handFed();
    expect(counter.take(1)).toBeUndefined();
    await give(7);
    const bases = [3, 1, 1_000, 1].map((ordinals) => counter.take(ordinals)?.text);
    const first = BigInt(bases[0] ?? 0);
    expect(bases).toEqual([first, first + 3n, first + 4n, first + 1_004n].map(String));
    expect(first).toBe(7n << 32n);
  });

  // With one epoch used twice, two points of different requests would have one uid, and the later one would win.
  it('go on under a new epoch when the counter is at its end, without a pause', async () => {
    const { counter, give, asked } = handFed();
    await give(7);
    expect(counter.take(counterEnd / 2)).toBeDefined();
    expect(asked()).toBe(0);
    expect(counter.take(10)).toBeDefined();
    await give(9);
    expect(counter.take(counterEnd / 2 - 10)?.text).toBe(String((7n << 32n) + BigInt(counterEnd / 2 + 10)));
    expect(counter.take(1)?.text).toBe(String(9n << 32n));
    expect(counter.take(1)?.text).toBe(String((9n << 32n) + 1n));
  });

  it('wait for the new epoch when it does not come in time', async () => {
    const { counter, give } = handFed();
    await give(7);
    counter.take(counterEnd);
    expect(counter.take(1)).toBeUndefined();
    expect(counter.isReady).toBe(false);
    await give(8);
    expect(counter.take(1)?.text).toBe(String(8n << 32n));
  });
});

const keyless = { identityKey: undefined };

describe('the identity of a request', () => {
  const text = fc.string({ maxLength: 12 });
  const parts = fc.tuple(text, text, fc.uint8Array({ maxLength: 12 }));

  it('is that of another one only if credential, key and body are equal, wherever one ends and the next begins', async () => {
    await fc.assert(
      fc.asyncProperty(parts, parts, async (one, other) => {
        const isSame = JSON.stringify(one) === JSON.stringify(other);
        const identities = await Promise.all(
          [one, other].map(([credential, key, body]) => requestIdentity(keyless, credential, key, body)),
        );
        expect(identities[0]?.sha256Hex === identities[1]?.sha256Hex).toBe(isSame);
        expect(identities[0]?.base.text === identities[1]?.base.text).toBe(isSame);
      }),
      { seed: 20261121, numRuns: 2_000 },
    );
    const id = async (credential: string, key: string, body: string) =>
      (await requestIdentity(keyless, credential, key, Buffer.from(body))).sha256Hex;
    const shifted = await Promise.all([
      id('ab', 'c', 'd'),
      id('a', 'bc', 'd'),
      id('a', 'b', 'cd'),
      id('1:a', '', ''),
      id('', '1:a', ''),
    ]);
    expect(new Set(shifted).size).toBe(shifted.length);
  });
});

describe('the identity of a request with a large body, in an installation with a key', () => {
  const keyed = { identityKey: Buffer.alloc(32, 7) };
  const id = async (given: typeof keyed | typeof keyless, credential: string, ...body: Uint8Array[]) =>
    (await requestIdentity(given, credential, '', ...body)).sha256Hex;
  const random = randomOf(20261124);
  const large = Buffer.from(Array.from({ length: 40_000 }, () => random(256)));

  it('is one, in any pieces of the body', async () => {
    const whole = await id(keyed, 'a', large);
    expect(await id(keyed, 'a', large.subarray(0, 12_345), large.subarray(12_345))).toBe(whole);
    expect(await id(keyed, 'a', large.subarray(0, 1), large.subarray(1, 2), large.subarray(2))).toBe(whole);
  });

  it('is another one for any byte, length, owner and key of an installation', async () => {
    const changed = Buffer.from(large);
    changed[20_000] = (changed[20_000] ?? 0) ^ 1;
    const all = await Promise.all([
      id(keyed, 'a', large),
      id(keyed, 'a', changed),
      id(keyed, 'a', Buffer.concat([large, Buffer.alloc(1)])),
      id(keyed, 'a', large.subarray(1)),
      id(keyed, 'b', large),
      id({ identityKey: Buffer.alloc(32, 8) }, 'a', large),
      id(keyless, 'a', large),
    ]);
    expect(new Set(all).size).toBe(all.length);
  });

  it('is that of an installation without a key for a small body', async () => {
    const small = large.subarray(0, 1_000);
    expect(await id(keyed, 'a', small)).toBe(await id(keyless, 'a', small));
  });
});

// A retry may cross from a receiver of one program to one of another: until a token is rotated they have to agree. The texts are what
// the program wrote that knew no rotation.
describe('the identity of a request, as programs before had it', () => {
  const token = '0123456789abcdef0123456789abcdef';
  const before = 'fedcba9876543210fedcba9876543210';
  const pushBody = (written: string): Buffer =>
    Buffer.from(`{"data_id":1500001,"access_token":"${written}","data":[]}`);
  const pushed = {
    sha256Hex: 'da5ed2b2d950c742d641b289696ebad26c2ca069c4d718743752cd352505f692',
    base: '8545497471845151184',
  };
  const source = push.sourceWith('wide');

  it('is the same for an export', async () => {
    const { sha256Hex, base } = await requestIdentity(
      keyless,
      `otlp:${token}`,
      '',
      Buffer.from('{"resourceSpans":[]}'),
    );
    expect([sha256Hex, base.text]).toEqual([
      '936657a8a5fe7447ed79f3327e033cf3fb1b5f28c9ed0a415281fffc9578c998',
      '7267004306690120977',
    ]);
  });

  it.each([
    ['whose token was never rotated', undefined, token],
    ['with its first token after a rotation', token, token],
    ['with a later token', token, before],
  ])('is the same for a push %s', async (_, identityCredential, written) => {
    const pair = { dataId: 1500001, token: written };
    const identity = await pushIdentity(
      keyless,
      { ...source, identityCredential },
      pair,
      'a key',
      pushBody(written),
    );
    expect({ sha256Hex: identity.sha256Hex, base: identity.base.text }).toEqual(pushed);
  });
});

// The token is a part of the bytes of a push. In any form of a body, its repeat under the next token has to be one.
describe('the identity of a keyed push after a rotation', () => {
  const first = '0123456789abcdef0123456789abcdef';
  const next = 'fedcba9876543210fedcba9876543210';
  const source = push.sourceWith('wide');
  const identityOf = async (identityCredential: string | undefined, token: string, body: string) => {
    const pair = { dataId: 1500001, token };
    return (await pushIdentity(keyless, { ...source, identityCredential }, pair, 'a key', Buffer.from(body)))
      .sha256Hex;
  };
  const escaped = (token: string, digits = token.length): string =>
    [...token]
      .map((digit, at) => (at < digits ? `\\u00${digit.charCodeAt(0).toString(16)}` : digit))
      .join('');
  const pair = (token: string): string => `"data_id":1500001,"access_token":"${token}"`;
  const data = '"data":[{"metrics":{"a":1},"dimension":{"access_token":"x"},"timestamp":1785628800000}]';

  it.each<[string, (token: string) => string]>([
    ['twice', (token) => `{${pair(token)},${data},${pair(token)}}`],
    ['three times', (token) => `{${pair(token)},${pair(token)},${data},${pair(token)}}`],
    ['in escapes', (token) => `{${pair(escaped(token))},${data}}`],
    ['once plain and once in escapes', (token) => `{${pair(token)},${data},${pair(escaped(token, 1))}}`],
    ['twice under a name in escapes', (token) => `{${pair(token)},${data},"access_toke\\u006e":"${token}"}`],
    ['around another one', (token) => `{${pair(token)},"access_token":"x",${data},${pair(token)}}`],
  ])('is the same where the body has the token %s', async (_, body) => {
    const before = await identityOf(undefined, first, body(first));
    expect(await identityOf(first, first, body(first))).toBe(before);
    expect(await identityOf(first, next, body(next))).toBe(before);
  });

  it('is another one for another text that a point has in escapes', async () => {
    const body = (text: string): string => `{${pair(first)},"data":[{"target":"${text}"}]}`;
    expect(await identityOf(undefined, first, body('\\u0061'))).not.toBe(
      await identityOf(undefined, first, body('a')),
    );
  });
});

// A policy may change between two tries of a request. If an ordinal or a cut moved with it, the second try would be stored
// beside the first one, or in its place.
describe('a request that is sent again after a change of policy', () => {
  const cutsOf = (runs: readonly { first: number; last: number }[]) =>
    runs.map(({ first, last }) => [first, last]);

  const point = fc.oneof(
    fc.record(
      {
        metrics: fc.dictionary(
          fc.constantFrom('a', 'b', 'A', '1bad', 'c'),
          fc.oneof(fc.double(), fc.constant('x')),
        ),
        target: fc.oneof(fc.string({ maxLength: 4 }), fc.constant(3), fc.constant([])),
        dimension: fc.dictionary(
          fc.constantFrom('d', 'e', 'f'),
          fc.oneof(fc.string({ maxLength: 3 }), fc.constant(null)),
        ),
        timestamp: fc.constantFrom<unknown>(
          push.arrivedAt,
          push.arrivedAt - 86_400_000,
          push.arrivedAt + 7_000_000,
          0,
          'N',
        ),
        filler: fc.constant('x'),
      },
      { requiredKeys: ['metrics'] },
    ),
    fc.constantFrom<unknown>(null, 5, 'text', {}),
  );
  /** Some points carry so much that a request of them takes several messages. */
  const points = fc
    .array(fc.tuple(point, fc.constantFrom(0, 0, 60_000, 400_000)), { minLength: 1, maxLength: 24 })
    .map((pairs) =>
      pairs.map(([value, weight]) =>
        typeof value === 'object' && value !== null ? { ...value, target: 't'.repeat(weight) } : value,
      ),
    );

  /** uid of each row by time-free content. */
  const uidsIn = (runs: readonly Run[]): Set<string> =>
    new Set(runs.flatMap(({ text }) => [...text.matchAll(/uid=(\d+)i/g)].map(([, uid = '']) => uid)));

  it.each(['wide', 'narrow'] as const)(
    'is cut alike and keeps the uids of its points, in a %s table',
    (layout) => {
      let cut = 0;
      always(
        fc.property(points, (data) => {
          const encodeUnder = (
            caps: { metricsMax: number; dimensionsMax: number },
            aheadMsMax: number,
            ageMsMax: number,
          ) =>
            push.encodeWithNames(
              data,
              push.contextWith(push.sourceWith(layout), {
                isKeyed: true,
                caps,
                policy: { aheadMsMax, ageMsMax },
              }),
            );
          const wide = encodeUnder({ metricsMax: 512, dimensionsMax: 64 }, 86_400_000, 30 * 86_400_000);
          const tight = encodeUnder({ metricsMax: 1, dimensionsMax: 0 }, 1_000, 1_000);
          expect(cutsOf(tight.runs)).toEqual(cutsOf(wide.runs));
          expect(tight.ordinals).toBe(wide.ordinals);
          // What the tight policy still keeps is a part of what the wide one kept, by uid.
          const kept = uidsIn(wide.runs);
          for (const uid of uidsIn(tight.runs)) expect(kept).toContain(uid);
          if (wide.runs.length > 1) cut++;
        }),
        150,
      );
      expect(cut).toBeGreaterThan(10);
    },
  );

  const spanWith = (weight: number, attributes: number, startMs: number) => ({
    ...traces.goodSpan,
    startTimeUnixNano: traces.nanosAt(startMs),
    endTimeUnixNano: traces.nanosAt(startMs),
    attributes: Array.from({ length: attributes }, (_, index) => ({
      key: `k${index}`,
      value: { stringValue: 'v'.repeat(weight) },
    })),
    events: Array.from({ length: attributes }, () => ({ name: 'e', timeUnixNano: traces.nanosAt(0) })),
    links: Array.from({ length: attributes }, () => ({
      traceId: traces.goodSpan.traceId,
      spanId: traces.goodSpan.spanId,
    })),
  });
  const spans = fc.array(
    fc
      .tuple(
        fc.constantFrom(0, 3, 70_000, 500_000),
        fc.constantFrom(0, 1, 3),
        fc.constantFrom(-1_000, -86_400_000, 7_000_000),
      )
      .map(([weight, attributes, startMs]) => spanWith(weight, attributes, startMs)),
    { minLength: 1, maxLength: 12 },
  );
  const tightLimits: ItemLimits = {
    itemsMax: 50_000,
    attributesMax: 2,
    eventsMax: 2,
    linksMax: 2,
    valueBytesMax: 4,
  };
  const owners: [string, Partial<ItemsOwner>][] = [
    ['of limits', { limits: tightLimits }],
    ['of windows', { policy: { ...traces.owner.policy, aheadMsMax: 1_000, ageMsMax: 1_000 } }],
    ['of fill_dimensions', { fillDimensions: true }],
  ];

  it.each(owners)(
    'is cut alike and keeps the uids of its spans: a change %s, JSON and protobuf',
    (_, change) => {
      let cut = 0;
      always(
        fc.property(spans, (list) => {
          const request = traces.requestOf(...list);
          const encoders = [
            (context: ReturnType<typeof traces.contextWith>): EncodedItems =>
              traces.encodeJson(request, context),
            (context: ReturnType<typeof traces.contextWith>): EncodedItems =>
              protobufTraces.encode(encodeOtlpProtobuf(request), context),
          ];
          for (const encode of encoders) {
            const before = encode(traces.contextWith());
            const after = encode(
              traces.contextWith({
                resolve: () => ({ ...traces.owner, ...change }),
                ...(change.limits === undefined ? {} : { limits: change.limits }),
              }),
            );
            expect(cutsOf(after.runs)).toEqual(cutsOf(before.runs));
            const kept = new Set(rowsOfTraces(before).map(({ uid }) => String(uid)));
            for (const { uid } of rowsOfTraces(after)) expect(kept).toContain(String(uid));
            if (before.runs.length > 1) cut++;
          }
        }),
        40,
      );
      expect(cut).toBeGreaterThan(5);
    },
  );

  it('has the same cut where its owner is disabled or its token is no longer valid', () => {
    const request = traces.requestOf(...Array.from({ length: 8 }, () => spanWith(500_000, 1, -1_000)));
    const before = traces.encodeJson(request);
    expect(before.runs.length).toBeGreaterThan(1);
    for (const gone of ['disabled', 'invalid'] as const) {
      expect(cutsOf(traces.encodeJson(request, traces.contextWith({ resolve: () => gone })).runs)).toEqual(
        cutsOf(before.runs),
      );
    }
  });

  it('numbers a point in a narrow table by its metrics as sent, those included that are not kept', () => {
    const data = [
      { metrics: { a: 1, b: 2 } },
      { metrics: { bad: 'x', c: 1, d: 2 } },
      { metrics: { e: 1 } },
    ].map((each) => ({ ...each, timestamp: push.arrivedAt }));
    const { runs } = push.encodeWithNames(data, push.contextWith(push.sourceWith('narrow')));
    const { base } = push.contextWith(push.sourceWith('narrow'));
    expect([...uidsIn(runs)]).toEqual([0, 1, 5].map((ordinal) => uidText(base, ordinal)));
  });
});
