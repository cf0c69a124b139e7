import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { PushPair } from '../../../src/ingress/push/decode.ts';
import type { Layout } from '../../../src/model/records.ts';
import type { EncodedPoints } from '../../../src/rules/points/encoded-points.ts';
import type { Random } from '../../support/otlp/plain/mutations.ts';
import { anyText, validName } from '../../support/properties.ts';
import { decodePush } from '../../support/push/decode-push.ts';
import { readRows } from '../../support/push/line-protocol-reader.ts';
import { countOrdinals } from '../../support/push/objects/point-encoder.ts';
import { droppedPointsAt } from '../../support/push/point-cases.ts';
import { expectSamePush } from '../../support/push/same-push.ts';
import { arrivedAt, contextWith, encodeWithNames, sourceWith } from '../../support/push/source.ts';
import { mutatedBytes } from '../bytes.ts';
import { exampleBodies, pickBody } from '../example-bodies.ts';
import { printJson } from '../json-text.ts';
import { asSent, plainJson, plainVerdict } from '../plain-push.ts';
import type { Target } from '../target.ts';

const dropped = droppedPointsAt(arrivedAt)
  .map(({ point }) => point)
  // The one that is a megabyte long would be most of the work.
  .filter((point) => JSON.stringify(point).length < 2000);

const anyPoint = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record(
      {
        metrics: fc.dictionary(validName(12), fc.double({ noNaN: true, noDefaultInfinity: true }), {
          minKeys: 1,
          maxKeys: 5,
        }),
        target: fc.oneof(anyText(), fc.integer()),
        dimension: fc.dictionary(
          validName(12),
          fc.oneof(anyText(), fc.integer(), fc.boolean(), fc.constant(null)),
        ),
        dimensions: fc.dictionary(validName(6), anyText(5)),
        timestamp: fc.integer({ min: arrivedAt - 9 * 86_400_000, max: arrivedAt + 4_000_000 }),
      },
      { requiredKeys: ['metrics'] },
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(...dropped) },
);

const anyBody = fc.record(
  {
    data_id: fc.oneof(fc.constant(1_500_001), fc.maxSafeNat()),
    access_token: fc.constant('0123456789abcdef0123456789abcdef'),
    data: fc.array(anyPoint, { minLength: 1, maxLength: 6 }),
    other: anyText(),
  },
  { requiredKeys: ['data_id', 'access_token', 'data'] },
);

const asBuffer = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

const total = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((sum, count) => sum + count, 0);

/** In = kept + Σ dropped, over all and over the messages, and nothing is in two messages or in none. */
const expectBalance = (encoded: EncodedPoints, data: readonly unknown[], layout: Layout): void => {
  const { runs } = encoded;
  assert.equal(encoded.accepted + total(encoded.dropped), data.length);
  const sum = (of: (run: (typeof runs)[number]) => number): number =>
    runs.reduce((all, run) => all + of(run), 0);
  assert.equal(
    sum((run) => run.points),
    encoded.accepted,
  );
  assert.equal(
    sum((run) => total(run.dropped) + run.deferred.length),
    total(encoded.dropped),
  );
  assert.equal(countOrdinals(data, layout), encoded.ordinals);
  let next = 0;
  for (const run of runs) {
    assert.equal(run.first, next);
    next = run.last + 1;
    assert.equal(readRows(run.text).length, run.rows);
    for (const text of run.deferred) JSON.parse(text);
  }
  assert.equal(next, encoded.ordinals);
};

/** The values of a row, without the names of columns, which depend on earlier registrations. */
type Shown = { readonly values: readonly number[]; readonly tags: readonly string[]; readonly time: number };

const rowsShown = (encoded: EncodedPoints, layout: Layout): Shown[] =>
  readRows(encoded.runs.map(({ text }) => text).join('')).map(({ tags, fields, time }) => {
    const { metric: _, ...rest } = tags;
    const values = Object.values(fields).filter((value) => typeof value === 'number');
    return { values, tags: Object.values(layout === 'narrow' ? rest : tags).map(asSent), time };
  });

/** Every point validated and every row made once more, by the plain rules. */
const expectRows = (encoded: EncodedPoints, data: readonly unknown[], layout: Layout, isKeyed: boolean) => {
  const verdicts = data.map((point) => plainVerdict(point, arrivedAt, isKeyed));
  const reasons = new Map<string, number>();
  const rows: Shown[] = [];
  for (const verdict of verdicts) {
    if (verdict.kind === 'drop') reasons.set(verdict.reason, (reasons.get(verdict.reason) ?? 0) + 1);
    else if (layout === 'wide')
      rows.push({
        values: verdict.values,
        tags: [verdict.target, ...verdict.dimensions],
        time: verdict.time,
      });
    else
      for (const value of verdict.values)
        rows.push({ values: [value], tags: [verdict.target, ...verdict.dimensions], time: verdict.time });
  }
  // Names beyond the limits make other rows, and this check omits points larger than a message.
  const isCapped = encoded.valuesDropped.size > 0 || encoded.dropped.has('metric_columns_exceeded');
  const hasMore = encoded.runs.some(({ text }) => text.includes('more_dimensions='));
  if (isCapped || hasMore || encoded.dropped.has('item_too_large')) return;
  assert.deepStrictEqual(new Map([...encoded.dropped].toSorted()), new Map([...reasons].toSorted()));
  assert.deepStrictEqual(rowsShown(encoded, layout), rows);
};

/** The reader of bytes makes of the body what objects make of it, broken or not. */
const checkBytes = (bytes: Buffer, pair: PushPair): void => {
  for (const layout of ['wide', 'narrow'] as const) {
    const table = sourceWith(layout, ['cpu', 'a'], ['module']);
    const isKeyed = bytes.length % 3 === 0;
    const task = {
      ...contextWith(table, { isKeyed }),
      pair,
      table,
      pointsMax: 50_000,
      elementsMax: 4_000_000,
    };
    expectSamePush(bytes, task);
  }
};

const checkPoints = (data: readonly unknown[], bodyLength: number): void => {
  for (const layout of ['wide', 'narrow'] as const) {
    const isKeyed = bodyLength % 3 === 0;
    const context = contextWith(sourceWith(layout), { isKeyed });
    const encoded = encodeWithNames(data, context);
    if (encoded.isTooMuch) continue;
    expectBalance(encoded, data, layout);
    expectRows(encoded, data, layout, isKeyed);
  }
};

/** Refusals before the owner of the request is known. */
const refusals = ['body_empty', 'body_not_json', 'body_not_object', 'data_id_invalid', 'unauthorized'];
/** For a larger body it is uncertain before that whether it is JSON. */
const diagnosedBytesMax = 4096;

const check = (bytes: Buffer): string => {
  const decoded = decodePush(bytes);
  const plain = plainJson(bytes.toString('utf8'));
  if (decoded.kind === 'refused') {
    checkBytes(bytes, { dataId: 1_500_001, token: '0123456789abcdef0123456789abcdef' });
    assert.ok(refusals.includes(decoded.reason));
    if (plain.kind !== 'too deep' && bytes.length > 0 && bytes.length <= diagnosedBytesMax)
      assert.equal(plain.kind, decoded.reason === 'body_not_json' ? 'not json' : 'json');
    return decoded.reason;
  }
  if (plain.kind !== 'too deep') {
    assert.ok(plain.kind === 'json');
    const sent: unknown = Object.getOwnPropertyDescriptor(Object(plain.value), 'data')?.value;
    assert.deepStrictEqual(decoded.push.data, sent);
  }
  const { data } = decoded.push;
  checkBytes(bytes, decoded.push);
  if (!Array.isArray(data)) return 'data_not_array';
  if (data.length === 0) return 'data_empty';
  checkPoints(data, bytes.length);
  return 'push';
};

const documented = exampleBodies('push', 'json');

/** Push JSON: decode, rules and line protocol. */
export const pushTarget: Target = {
  name: 'push',
  corpus: (seed) => fc.sample(anyBody, { seed, numRuns: 150 }).map(asBuffer),
  mutate: (random: Random, valid, other) => {
    if (random(8) === 0) return mutatedBytes(random, valid, other);
    if (random(8) === 0) return mutatedBytes(random, pickBody(random, documented, valid), other);
    const value: unknown = JSON.parse(valid.toString('utf8'));
    const printed = Buffer.from(printJson(value, random, [4, 15, 60][random(3)] ?? 15));
    return random(12) === 0 ? mutatedBytes(random, printed, other) : printed;
  },
  check,
  checkCut: (cut) => {
    const decoded = decodePush(cut);
    const expected = cut.length === 0 ? 'body_empty' : 'body_not_json';
    assert.equal(decoded.kind === 'refused' ? decoded.reason : decoded.kind, expected);
  },
};
