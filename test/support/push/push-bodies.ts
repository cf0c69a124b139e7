import fc from 'fast-check';
import { droppedPointsAt } from './point-cases.ts';
import { arrivedAt } from './source.ts';

// Bodies of pushes as text, in every way in which clients write JSON, and in some in which none does.

export const token = '0123456789abcdef0123456789abcdef';
export const knownMetrics = ['cpu', 'cpu_load', 'memory_usage', 'Cpu_load', 'a'];
export const knownDimensions = ['module', 'location', 'host', 'Host'];

const number = fc.oneof(
  fc.double({ noNaN: true }).map(String),
  fc.integer().map(String),
  fc.constantFrom('0', '-0', '-0.0', '1.50', '12.0', '1e400', '-1e400', '1E-5', '9007199254740993'),
  fc
    .tuple(
      fc.integer({ min: -99, max: 99 }),
      fc.stringMatching(/^[0-9]{1,20}$/),
      fc.constantFrom('', 'e5', 'E-7', 'e+2'),
    )
    .map(([whole, digits, exponent]) => `${whole}.${digits}${exponent}`),
);
const word = fc.constantFrom('null', 'true', 'false', 'NaN', 'Infinity', '-Infinity');
/** What is not JSON in any place. */
const broken = fc.constantFrom(
  ...[
    '01',
    '1.',
    '-',
    '+1',
    '1e',
    '.5',
    'nul',
    '-NaN',
    '',
    '{,}',
    '[1,]',
    '{"a"}',
    '{"a":1,}',
    '[1',
    '{a:1}',
  ],
  ...['"\\x"', '"\\u12g4"', '"\\u12"', '"a', '"\n"', '"\\"'],
);

const hex = (unit: number): string => unit.toString(16).padStart(4, '0');

/** A text between quotes; each character as it is, or as an escape. */
const written = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(text, fc.constantFrom('no', 'all', 'json', 'ascii')).map(([value, how]) => {
    if (how === 'all')
      return `"${Array.from({ length: value.length }, (_, at) => `\\u${hex(value.charCodeAt(at))}`).join('')}"`;
    const json = JSON.stringify(value);
    if (how === 'ascii')
      return json
        .replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${hex(unit.charCodeAt(0)).toUpperCase()}`)
        .replaceAll('/', '\\/');
    return how === 'json' ? json.replaceAll('/', '\\/') : json;
  });
const text = written(
  fc.oneof(
    { weight: 6, arbitrary: fc.string({ unit: fc.constantFrom(...' ,=é漢🚀x0/'), maxLength: 9 }) },
    {
      weight: 2,
      arbitrary: fc.string({
        unit: fc.constantFrom(...'\\"\n\r\t\u0001ü', '\ud83d', '\ude00'),
        maxLength: 5,
      }),
    },
    { weight: 1, arbitrary: fc.constantFrom('\u0000', 'a\u0000') },
  ),
);
const blanks = fc.constantFrom('', '', '', ' ', '\n  ', '\t', '\r\n');

const nested = fc
  .letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.oneof(number, word, text),
      fc.array(tie('any'), { maxLength: 3 }).map((items) => `[${items.join(' , ')}]`),
      fc
        .array(fc.tuple(fc.constantFrom('"a"', '"a"', '"b"', '"__proto__"', '"1"'), tie('any')), {
          maxLength: 3,
        })
        .map((members) => `{${members.map(([name, value]) => `${name}: ${value}`).join(',')}}`),
    ),
  }))
  .any.map(String);

/** A value where such a one belongs; now and then any other. */
const usually = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 240, arbitrary: value },
    { weight: 6, arbitrary: fc.oneof(word, number, text) },
    { weight: 3, arbitrary: nested },
    { weight: 1, arbitrary: broken },
  );

const member = (name: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(blanks, written(name), blanks, usually(value), blanks)
    .map(([a, n, b, v, c]) => `${a}${n}${b}:${v}${c}`);

const object = (members: fc.Arbitrary<string>, most: number): fc.Arbitrary<string> =>
  fc.array(members, { maxLength: most }).map((list) => `{${list.join(',')}}`);

const oddNames = [
  'new',
  'other',
  'third',
  'new',
  'other',
  '__proto__',
  'constructor',
  'a b',
  '7',
  '10',
  '',
  'é',
  'n'.repeat(101),
];
const nameOf = (known: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 60, arbitrary: fc.constantFrom(...known) },
    { weight: 1, arbitrary: fc.constantFrom(...oddNames) },
  );

const values = object(member(nameOf(knownMetrics), number), 4);
const tags = object(
  member(
    nameOf(knownDimensions),
    fc.oneof({ weight: 5, arbitrary: text }, { weight: 1, arbitrary: fc.oneof(number, word) }),
  ),
  4,
);
const time = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: arrivedAt - 1000, max: arrivedAt + 1000 }).map(String) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'null',
      `${arrivedAt}.0`,
      `${arrivedAt / 1e3}e3`,
      `${arrivedAt}.5`,
      '5',
      '-1',
      '"N"',
      '1e400',
      'NaN',
    ),
  },
);
const just = (name: string): fc.Arbitrary<string> => fc.constant(name);

/** Members in any order, some of them missing, a few of them twice. */
const anyPoint = fc
  .record({
    metrics: member(just('metrics'), values),
    rest: fc.subarray([
      member(just('target'), fc.oneof({ weight: 5, arbitrary: text }, { weight: 1, arbitrary: number })),
      member(fc.constantFrom('dimension', 'dimension', 'dimensions'), tags),
      member(just('timestamp'), time),
      member(fc.constantFrom('note', 'Target', '__proto__', ''), nested),
    ]),
    odd: fc.oneof(
      { weight: 12, arbitrary: fc.constant(undefined) },
      {
        weight: 1,
        arbitrary: member(fc.constantFrom('target', 'dimension', 'dimensions', 'timestamp'), nested),
      },
      { weight: 1, arbitrary: member(just('metrics'), values) },
    ),
  })
  .chain(({ metrics, rest, odd }) => fc.tuple(fc.constant(metrics), fc.tuple(...rest), fc.constant(odd)))
  .chain(([metrics, rest, odd]) => {
    const all = [metrics, ...rest, ...(odd === undefined ? [] : [odd])];
    return fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length });
  })
  .map((members) => `{${members.join(',')}}`);

const droppedTexts = droppedPointsAt(arrivedAt)
  .map(({ point }) => JSON.stringify(point))
  .filter((point) => point.length < 2_000);

/** A point as text: valid, dropped, deferred or not JSON. */
export const pointText: fc.Arbitrary<string> = fc.oneof(
  { weight: 30, arbitrary: anyPoint },
  { weight: 2, arbitrary: fc.constantFrom(...droppedTexts) },
  { weight: 1, arbitrary: nested },
);

/** A body of such points: its members in any order, with others beside them, sometimes twice, sometimes not JSON. */
export const bodyText: fc.Arbitrary<string> = fc
  .record({
    points: fc.array(
      fc.tuple(blanks, pointText, blanks).map((parts) => parts.join('')),
      { minLength: 1, maxLength: 4 },
    ),
    around: fc.array(
      fc.oneof(
        { weight: 4, arbitrary: member(fc.constantFrom('note', 'Data', 'bk', '__proto__'), nested) },
        { weight: 1, arbitrary: member(fc.constantFrom('data', 'data_id', 'access_token'), nested) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            '"data_id":1500001',
            '"data_id":15000010e-1',
            '"data_id":2',
            `"access_token":"x"`,
            '"data":[{}]',
          ),
        },
      ),
      { maxLength: 1 },
    ),
    separator: fc.constantFrom(',', ',', ',', ' , ', ',\n'),
    end: fc.oneof(
      { weight: 30, arbitrary: fc.constantFrom('', '', '\n') },
      { weight: 1, arbitrary: fc.constantFrom(',', '}', 'x', '\uFEFF', '"a') },
    ),
    begin: fc.oneof(
      { weight: 30, arbitrary: just('') },
      { weight: 1, arbitrary: fc.constantFrom('\uFEFF', ' ', ' \uFEFF') },
    ),
  })
  .chain(({ points, around, separator, end, begin }) => {
    const members = [
      '"data_id": 1500001',
      `"access_token":"${token}"`,
      `"data":[${points.join(separator)}]`,
      ...around,
    ];
    return fc
      .shuffledSubarray(members, { minLength: members.length, maxLength: members.length })
      .map((all) => `${begin}{${all.join(separator)}}${end}`);
  });
