import { afterEach, describe, expect, it } from 'vitest';
import { createLargeBodies, type LargeBodies } from '../../../src/ingress/large-bodies/large-bodies.ts';
import { shownPart } from '../../../src/ingress/large-bodies/shown-part.ts';
import { encodePush, type PushTask } from '../../../src/ingress/push/encode.ts';
import { shownExamples } from '../../../src/rules/points/encoded-points.ts';
import { TokenKeys } from '../../../src/wire/otlp/token-keys.ts';
import type { EncodedItems } from '../../../src/wire/otlp/types.ts';
import { encodeOtlpProtobuf } from '../../support/otlp/protobuf.ts';
import {
  encodeJson,
  goodSpan,
  owner,
  requestOf,
  contextWith as traceContextWith,
} from '../../support/otlp/trace-source.ts';
import { arrivedAt, contextWith, sourceWith } from '../../support/push/source.ts';

const errors: object[] = [];
const opened: LargeBodies[] = [];
const open = (): LargeBodies => {
  const large = createLargeBodies({ error: (fields: object) => errors.push(fields) });
  opened.push(large);
  return large;
};
afterEach(async () => {
  await Promise.all(opened.splice(0).map((large) => large.close()));
});

const never = (): number => performance.now() + 60_000;
const source = sourceWith('wide', ['a'], ['module']);
const task: PushTask = {
  ...contextWith(source),
  ...{ pair: { dataId: source.dataId, token: source.token }, table: source },
  ...{ pointsMax: 100_000, elementsMax: 4_000_000, asBytes: false },
};
const bodyOf = (points: readonly unknown[]): Buffer =>
  Buffer.from(JSON.stringify({ data_id: source.dataId, access_token: source.token, data: points }));
const points = Array.from({ length: 5_000 }, (_, index) => ({
  metrics: { a: index % 7 === 0 ? 'no number' : index, [`new_${index % 3}`]: 1 },
  dimension: { module: `m${index}` },
  target: index % 11 === 0 ? undefined : 'host',
  timestamp: index % 13 === 0 ? 'never' : arrivedAt - index,
}));

// The thread keeps a body from delaying others; the result for the body must not depend on where it was read.
describe('the thread of large bodies', () => {
  it('makes the same rows of a push as the event loop', async () => {
    // Two of the three new names have no column.
    const capped = { ...task, caps: { ...task.caps, metricsMax: source.metrics.size + 1 } };
    const here = encodePush(bodyOf(points), capped);
    const body = { bytes: bodyOf(points) };
    const there = await open().encodePush(body, capped, never());
    if (here.kind !== 'encoded' || there.kind !== 'encoded') throw new Error('refused');
    const rows = (push: typeof here): string[] =>
      push.encoded.runs.map(({ bytes, text }) =>
        bytes === undefined ? text : Buffer.from(bytes).toString(),
      );
    expect(rows(there)).toEqual(rows(here));
    const { runs: _, ...counts } = here.encoded;
    const { runs: __, ...same } = there.encoded;
    expect(same).toEqual(counts);
    const shown = shownExamples(here.encoded).map(({ index }) => index);
    expect(shown.map((index) => there.pointAt(index))).toEqual(shown.map((index) => here.pointAt(index)));
    expect([here.encoded.examples.length, here.encoded.lostExamples.length]).toEqual([20, 2]);
    // The body is back: its receiver may need it for samples.
    expect(body.bytes.equals(bodyOf(points))).toBe(true);
  });

  it('refuses a push as the event loop does', async () => {
    for (const bytes of [bodyOf([]), Buffer.from('{"data_id":1500001'), bodyOf(points).subarray(0, 100_000)])
      expect(await open().encodePush({ bytes: Buffer.from(bytes) }, task, never())).toEqual(
        encodePush(bytes, task),
      );
  });

  it('makes the same rows of an export as the event loop, and throws the same errors', async () => {
    const spans = Array.from({ length: 500 }, (_, index) => ({
      ...goodSpan,
      ...(index % 5 === 0 ? { startTimeUnixNano: 'N' } : {}),
    }));
    const { resolve: _, ...context } = traceContextWith();
    const job = {
      pipeline: 'traces' as const,
      encoding: 'json' as const,
      ...{
        tokenKeys: ['mon.data.token'],
        owners: new Map([[undefined, owner]]),
        context,
        elementsMax: 1_000_000,
      },
    };
    const bytes = Buffer.from(JSON.stringify(requestOf(...spans)));
    /** Without examples, and blocks as text. */
    const plain = ({ samples: _, runs, ...rest }: EncodedItems): object => ({
      ...rest,
      runs: runs.map(({ parts, ...run }) => ({
        ...run,
        parts: parts.map((part) => ({ ...part, block: Buffer.from(part.block).toString('latin1') })),
      })),
    });
    const large = open();
    const here = encodeJson(bytes);
    const none = () => [];
    const { encoded: there } = await large.encode({ bytes: Buffer.from(bytes) }, job, none, never());
    expect(plain(there)).toEqual(plain(here));
    expect(there.samples.length).toBe(5);
    const refused = (change: Partial<typeof job>, text = bytes) =>
      large.encode({ bytes: Buffer.from(text) }, { ...job, ...change }, none, never());
    await expect(refused({}, Buffer.from('{"resourceSpans":[{]}'))).rejects.toThrow('expected a name');
    await expect(refused({ elementsMax: 100 })).rejects.toThrow('more than 100 objects');
    const limits = { ...context.limits, itemsMax: 100 };
    await expect(refused({ context: { ...context, limits } })).rejects.toThrow('100');
  });

  it('finds the tokens that the event loop finds', async () => {
    const request = {
      resourceSpans: ['one', 'two'].map((stringValue) => ({
        resource: { attributes: [{ key: 'my.token', value: { stringValue } }] },
        scopeSpans: [{ spans: [goodSpan] }],
      })),
    };
    const large = open();
    const tokens = (encoding: 'json' | 'protobuf', bytes: Buffer, tokenKeys: readonly string[]) =>
      large.collectTokens({ bytes }, { pipeline: 'traces', encoding, tokenKeys }, never());
    expect(await tokens('json', Buffer.from(JSON.stringify(request)), ['my.token'])).toEqual(['one', 'two']);
    expect(await tokens('protobuf', encodeOtlpProtobuf(request), ['my.token'])).toEqual(['one', 'two']);
    expect(await tokens('json', Buffer.from(JSON.stringify(request)), ['other'])).toEqual([undefined]);
    expect(new TokenKeys(['my.token']).mayBeIn(Buffer.from('no'))).toBe(false);
  });

  it('answers in time, and frees a body whose sender has its answer', async () => {
    const large = open();
    const bodies = Array.from({ length: 4 }, () => ({ bytes: bodyOf(points) }));
    const [first, ...late] = bodies;
    if (first === undefined) throw new Error('no body');
    const taken = large.encodePush(first, task, never());
    const refused = await Promise.allSettled(
      late.map((body) => large.encodePush(body, task, performance.now() + 1)),
    );
    expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    for (const each of refused)
      expect(each).toMatchObject({ reason: { kind: 'transient', code: 'not_in_time' } });
    expect((await taken).kind).toBe('encoded');
    // Their turn never comes: they were not given to the thread.
    expect((await large.encodePush({ bytes: bodyOf(points) }, task, never())).kind).toBe('encoded');
    expect(late.every(({ bytes }) => bytes.length > 0)).toBe(true);
  });
});

describe('a value in a sample from the thread', () => {
  it('is cut in length, members and depth', () => {
    const deep = JSON.parse(`${'['.repeat(20)}1${']'.repeat(20)}`);
    const members = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`n${index}`, index]));
    const shown = JSON.stringify(
      shownPart({ text: 'x'.repeat(5_000), deep, members, ['n'.repeat(3_000)]: 1 }),
    );
    expect(shown.length).toBeLessThan(8_000);
    expect(shown).toContain('…');
    expect(shownPart({ a: [1, { b: 'c' }] })).toEqual({ a: [1, { b: 'c' }] });
  });
});
