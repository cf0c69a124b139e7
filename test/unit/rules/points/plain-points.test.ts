import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pushBodies } from '../../../../bench/bodies.ts';
import { always, trickyText } from '../../../support/properties.ts';
import { expectPlainWay } from '../../../support/push/plain-way.ts';
import { droppedPointsAt } from '../../../support/push/point-cases.ts';
import { arrivedAt, sourceWith } from '../../../support/push/source.ts';

// The plain way of a push must be indistinguishable from the general one: it makes the same rows, or does not take the
// body.

const metrics = ['cpu', 'cpu_load', 'memory_usage', 'Cpu_load', 'a'];
const dimensions = ['module', 'location', 'host', 'Host'];
const source = sourceWith('wide', metrics, dimensions);
const token = '0123456789abcdef0123456789abcdef';

const bodyOf = (points: readonly string[], tail = ']}'): Buffer =>
  Buffer.from(`{"data_id":1500001,"access_token":"${token}","data":[${points.join(',')}${tail}`);
const pointOf = (value: string, rest = ''): string => `{"metrics":{"cpu_load":${value}}${rest}}`;

describe('bodies as reporters write them', () => {
  // A rewrite that quietly left every body to the slow way would pass each comparison.
  it.each([
    ['compact', bodyOf([pointOf('1.5', `,"target":"10.0.0.1","timestamp":${arrivedAt}`)])],
    [
      'with blanks, as Python writes',
      Buffer.from(
        `{"data_id": 1500001, "access_token": "${token}", "data": [{"metrics": {"cpu_load": 1.0}, "target": "a b", "dimension": {"module": "x=y,z", "host": 7}, "timestamp": ${arrivedAt}}]}`,
      ),
    ],
    ['of many points', pushBodies(1, 1000, 1500001, token, arrivedAt)[0] ?? Buffer.alloc(0)],
    ['that take several messages', pushBodies(1, 20_000, 1500001, token, arrivedAt)[0] ?? Buffer.alloc(0)],
    ['with texts of any script', bodyOf([pointOf('1', ',"target":"主机-é-🚀","dimension":{"module":"ü"}')])],
    ['without a time', bodyOf([pointOf('0'), pointOf('-0'), pointOf('1e3'), pointOf('0.30000000000000004')])],
    ['with the dimension first', bodyOf([`{"dimension":{"host":"a"},"target":"t",${pointOf('1').slice(1)}`])],
  ])('go the short way: %s', (_what, body) => {
    expect(expectPlainWay(body, source)).toBe(true);
  });
});

describe('everything else is left alone', () => {
  // A request with a key goes the other way at once.
  const dropped = droppedPointsAt(arrivedAt)
    .filter(({ isKeyed }) => isKeyed !== true)
    .map(({ what, point }) => [what, JSON.stringify(point) ?? 'null'] as const);
  it.each(dropped)('a point that breaks a rule: %s', (_what, point) => {
    expect(expectPlainWay(bodyOf([pointOf('1'), point]), source)).toBe(false);
  });
  it.each([
    ['an unknown metric', bodyOf(['{"metrics":{"other":1}}'])],
    ['an unknown dimension', bodyOf([pointOf('1', ',"dimension":{"other":"x"}')])],
    ['a metric twice', bodyOf(['{"metrics":{"a":1,"a":2}}'])],
    ['a member twice', bodyOf([pointOf('1', ',"target":"a","target":"b"')])],
    ['an unknown member', bodyOf([pointOf('1', ',"other":1')])],
    // The buffers of a row stay with the process: none grows to the size of a body.
    ['a target of 17 KiB', bodyOf([pointOf('1', `,"target":"${'t'.repeat(17 * 1024)}"`)])],
    ['a dimension of 17 KiB', bodyOf([pointOf('1', `,"dimension":{"host":"${'h'.repeat(17 * 1024)}"}`)])],
    ['an escape', bodyOf([pointOf('1', ',"target":"\\u0041"')])],
    ['NaN', bodyOf([pointOf('NaN')])],
    ['a number out of range', bodyOf([pointOf('1e400')])],
    ['a number with a leading zero', bodyOf([pointOf('01')])],
    ['a time with a fraction', bodyOf([pointOf('1', `,"timestamp":${arrivedAt}.0`)])],
    ['a comma too many', bodyOf([pointOf('1'), ''])],
    ['bytes behind the body', bodyOf([pointOf('1')], ']}x')],
    ['a body cut short', bodyOf([pointOf('1')], ']')],
    ['a member behind the points', bodyOf([pointOf('1')], '],"data_id":2}')],
    ['no points', bodyOf([])],
    [
      'bytes that are not UTF-8',
      Buffer.concat([
        Buffer.from(`{"data_id":1500001,"access_token":"${token}","data":[{"metrics":{"a":1},"target":"`),
        Buffer.from([0xff]),
        Buffer.from('"}]}'),
      ]),
    ],
    ['more points than a request may have', bodyOf(Array.from({ length: 50_001 }, () => pointOf('1')))],
  ])('%s', (_what, body) => {
    expect(expectPlainWay(body, source)).toBe(false);
  });
});

const number = fc.oneof(
  fc.double({ noNaN: true }).map(String),
  fc.integer().map(String),
  fc
    .tuple(
      fc.integer({ min: -99, max: 99 }),
      fc.stringMatching(/^[0-9]{0,20}$/),
      fc.constantFrom('', 'e5', 'E-7', 'e+2', 'e'),
    )
    .map(([whole, digits, exponent]) => `${whole}.${digits}${exponent}`),
);
const text = fc
  .oneof(
    { weight: 4, arbitrary: fc.string({ unit: fc.constantFrom(...' ,=é🚀x0'), maxLength: 9 }) },
    { weight: 1, arbitrary: trickyText('\\"\n\u0000') },
  )
  .map((value) => JSON.stringify(value));
const blanks = fc.constantFrom('', ' ', '\n ', '\t');
const member = (name: string, value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(blanks, blanks, value, blanks).map(([a, b, each, c]) => `${a}"${name}"${b}:${each}${c}`);
const object = (members: fc.Arbitrary<string>, most: number): fc.Arbitrary<string> =>
  fc.array(members, { maxLength: most }).map((list) => `{${list.join(',')}}`);
const values = object(
  fc.constantFrom(...metrics, 'new').chain((name) => member(name, number)),
  3,
);
const tags = object(
  fc
    .constantFrom(...dimensions, 'new')
    .chain((name) =>
      member(name, fc.oneof({ weight: 4, arbitrary: text }, { weight: 1, arbitrary: number })),
    ),
  3,
);
const point = fc
  .tuple(
    member('metrics', values),
    fc
      .subarray([
        member('target', text),
        member('dimension', tags),
        member('timestamp', fc.integer({ min: arrivedAt - 1000, max: arrivedAt + 1000 }).map(String)),
      ])
      .chain((list) => fc.tuple(...list)),
    fc.boolean(),
  )
  .map(
    ([first, rest, isReversed]) =>
      `{${(isReversed ? [first, ...rest].reverse() : [first, ...rest]).join(',')}}`,
  );

describe('the short way and the way of all bodies agree', () => {
  it('on points with any numbers, texts, blanks and orders', () => {
    let taken = 0;
    always(
      fc.property(fc.array(point, { minLength: 1, maxLength: 4 }), (points) => {
        if (expectPlainWay(bodyOf(points), source)) taken++;
      }),
      3000,
    );
    expect(taken).toBeGreaterThan(150);
  });

  it('on bodies with a byte changed, left out or put in', () => {
    const body = pushBodies(1, 3, 1500001, token, arrivedAt)[0] ?? Buffer.alloc(0);
    always(
      fc.property(fc.nat(body.length - 1), fc.nat(255), fc.constantFrom(0, 1, 2), (at, byte, kind) => {
        const from = kind === 2 ? at : at + 1;
        const added = kind === 1 ? [] : [byte];
        expectPlainWay(
          Buffer.concat([body.subarray(0, at), Buffer.from(added), body.subarray(from)]),
          source,
        );
      }),
      5000,
    );
  });
});
