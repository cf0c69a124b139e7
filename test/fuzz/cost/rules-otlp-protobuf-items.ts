import { nanosAt } from '../../support/otlp/trace-source.ts';
import type { Part } from './parts.ts';
import { field, fixed64Hex, hex } from './protobuf-parts.ts';
import type { Grow, Rule } from './rules.ts';

// Log records and data points in protobuf, in place of spans.

const now = fixed64Hex(nanosAt(-1000));

/** The tag of a field of eight bytes, as hexadecimal digits. */
const tag64 = (number: number): string => Buffer.of((number << 3) | 1).toString('hex');

const time = (grow: Grow, number: number): Part =>
  grow.mostly(
    () => hex(`${tag64(number)}${now}`),
    () => hex(`${tag64(number)}${fixed64Hex('9000000000000000000')}`),
    () => ({ repeat: hex(`${tag64(number)}${now}`), times: grow.count(3000) }),
    () => hex(`${tag64(number)}0000000000000000`),
  );

const eightBytes = (grow: Grow, number: number): Part =>
  hex(
    `${tag64(number)}${grow.pick('000000000000f03f', '000000000000f87f', 'ffffffffffffffff', '0500000000000000')}`,
  );

/** Repeated fields of a rule, each up to some size. */
const many = (grow: Grow, number: number, rule: string): Part => ({
  repeat: field(number, grow.of(rule)),
  each: grow.count(1024),
  ...(grow.chance(2) ? { times: grow.count(130) } : {}),
});

/** A list of numbers, packed or one by one. */
const numbers = (grow: Grow, number: number, digits: string): Part =>
  grow.mostly(
    () => field(number, { repeat: hex(digits), times: grow.count(500) }),
    () => field(number, { repeat: hex(digits) }),
    () => ({ repeat: field(number, hex(digits)) }),
    () => field(number, hex(digits.slice(2))),
  );

const logRules: Record<string, Rule> = {
  span: (grow) =>
    field(
      2,
      grow.mostly(
        () =>
          grow.some(
            [
              time(grow, 1),
              time(grow, 11),
              hex(grow.pick('1009', '10ffffffffffffffffff01')),
              field(3, grow.of('text')),
              field(5, grow.of('any')),
              many(grow, 6, 'keyValue'),
              hex(`4a10${'11'.repeat(16)}5208${'22'.repeat(8)}`),
              field(12, grow.of('text')),
            ],
            '',
          ),
        () => ({ all: [time(grow, 1), field(5, grow.of('any'))] }),
        () => ({ repeat: field(5, grow.of('any')) }),
        () => grow.many('unknown', ''),
        () => '',
      ),
    ),
};

/** Number fields that differ between the kinds of data points. */
const kinds = { gauge: 5, sum: 7, histogram: 9, 'exponential histogram': 10, summary: 11 } as const;
const kindNames = ['gauge', 'sum', 'histogram', 'exponential histogram', 'summary'] as const;

const metricRules: Record<string, Rule> = {
  span: (grow) =>
    field(
      2,
      grow.mostly(
        () =>
          grow.some(
            [
              field(1, grow.pick<Part>('requests', 'requests.#', grow.of('text'))),
              field(2, grow.of('text')),
              field(3, '1'),
              grow.of('metric data'),
            ],
            '',
          ),
        () => ({ all: [field(1, 'm'), grow.of('metric data')] }),
        () => ({ all: [grow.of('metric data'), grow.of('metric data'), field(1, 'm#')] }),
        () => grow.many('unknown', ''),
        () => '',
      ),
    ),
  'metric data': (grow) => {
    const kind = grow.pick(...kindNames);
    return field(kinds[kind], {
      all: [
        many(grow, 1, `${kind} point`),
        hex(grow.pick('1002', '1001', '1009')),
        hex(grow.pick('1801', '1800')),
      ],
    });
  },
  'gauge point': (grow) =>
    grow.some(
      [
        time(grow, 2),
        time(grow, 3),
        many(grow, 7, 'keyValue'),
        eightBytes(grow, grow.pick(4, 6)),
        many(grow, 5, 'exemplar'),
        hex('4001'),
      ],
      '',
    ),
  'sum point': (grow) => grow.of('gauge point'),
  'histogram point': (grow) =>
    grow.some(
      [
        time(grow, 2),
        time(grow, 3),
        many(grow, 9, 'keyValue'),
        eightBytes(grow, 4),
        eightBytes(grow, 5),
        numbers(grow, 6, '0500000000000000'),
        numbers(grow, 7, '000000000000f03f'),
        many(grow, 8, 'exemplar'),
      ],
      '',
    ),
  'exponential histogram point': (grow) =>
    grow.some(
      [
        time(grow, 2),
        time(grow, 3),
        many(grow, 1, 'keyValue'),
        eightBytes(grow, 4),
        hex(grow.pick('3006', '3013', '30feffffff0f')),
        field(8, { all: [hex('0805'), numbers(grow, 2, grow.pick('05', 'ffffffffffffffffff01'))] }),
        field(9, numbers(grow, 2, '05')),
        many(grow, 11, 'exemplar'),
      ],
      '',
    ),
  'summary point': (grow) =>
    grow.some(
      [
        time(grow, 3),
        many(grow, 7, 'keyValue'),
        eightBytes(grow, 4),
        eightBytes(grow, 5),
        many(grow, 6, 'quantile'),
      ],
      '',
    ),
  quantile: (grow) =>
    grow.mostly(
      () => ({ all: [eightBytes(grow, 1), eightBytes(grow, 2)] }),
      () => '',
      () => grow.many('unknown', ''),
    ),
  exemplar: (grow) =>
    grow.mostly(
      () => ({
        all: [
          time(grow, 2),
          eightBytes(grow, grow.pick(3, 6)),
          hex(`2208${'22'.repeat(8)}2a10${'11'.repeat(16)}`),
          many(grow, 7, 'keyValue'),
        ],
      }),
      () => ({ all: [time(grow, 2), eightBytes(grow, 3)] }),
      () => '',
    ),
};

/** The rules of a signal that stand in place of those of spans; `span` is its item, or a metric. */
export const protobufItemRules = { logs: logRules, otel_metrics: metricRules } as const;
