import { nanosAt } from '../../support/otlp/trace-source.ts';
import type { Part } from './parts.ts';
import type { Grow, Rule } from './rules.ts';

// Log records and data points in JSON, in place of spans.

const now = nanosAt(-1000);

const timeOf = (grow: Grow, name: string): Part =>
  grow.mostly(
    () => `"${name}":"${now}"`,
    () => `"${name}":${now}`,
    () => `"${name}":"${now.slice(0, 5)}#00000000000"`,
    () => `"${name}":"9000000000000000000"`,
    () => ({ all: [`"${name}":`, grow.of('value')] }),
  );

/** An object of these members, some of them left out or in another order. */
const object = (grow: Grow, ...members: readonly Part[]): Part => ({
  all: ['{', grow.some(members, ','), '}'],
});

const listOf = (grow: Grow, name: string, rule: string): Part => ({
  all: [`"${name}":[`, grow.many(rule), ']'],
});

const named = (name: string, value: Part): Part => ({ all: [`"${name}":`, value] });

const number = (grow: Grow): Part =>
  grow.pick<Part>('12', '"12"', '1.5', '"NaN"', '"-Infinity"', '"9223372036854775807"', grow.of('number'), {
    all: ['"', grow.of('number'), '"'],
  });

const logRules: Record<string, Rule> = {
  span: (grow) =>
    grow.mostly(
      () =>
        object(
          grow,
          timeOf(grow, 'timeUnixNano'),
          timeOf(grow, 'observedTimeUnixNano'),
          grow.of('severity'),
          grow.of('body field'),
          grow.of('attributes'),
          grow.of('ids'),
          named('eventName', grow.of('string')),
        ),
      () => ({ all: ['{', timeOf(grow, 'timeUnixNano'), ',', grow.of('body field'), '}'] }),
      () => ({ all: ['{', grow.of('body field'), '}'] }),
      () => '{}',
      () => grow.of('value'),
    ),
  'body field': (grow) => named('body', grow.of('any')),
  severity: (grow) =>
    grow.pick<Part>(
      '"severityNumber":9,"severityText":"INFO"',
      '"severityNumber":"SEVERITY_NUMBER_WARN"',
      '"severityNumber":99',
      named('severityText', grow.of('string')),
    ),
};

const kinds = ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary'] as const;

/** The members that data points of every kind have. */
const pointMembers = (grow: Grow): Part[] => [
  timeOf(grow, 'timeUnixNano'),
  timeOf(grow, 'startTimeUnixNano'),
  grow.of('attributes'),
  named('flags', grow.pick('0', '1', '"1"')),
];

const listOfNumbers = (grow: Grow, name: string): Part => ({
  all: [`"${name}":[`, { repeat: number(grow), between: ',', each: grow.count(1024) }, ']'],
});

const metricRules: Record<string, Rule> = {
  span: (grow) =>
    grow.mostly(
      () =>
        object(
          grow,
          named('name', grow.pick<Part>('"requests"', '"requests.#"', grow.of('string'))),
          named('description', grow.of('string')),
          named('unit', '"1"'),
          grow.of('metric data'),
        ),
      () => ({ all: ['{"name":"m",', grow.of('metric data'), '}'] }),
      () => ({ all: ['{', grow.of('metric data'), ',', grow.of('metric data'), ',"name":"m#"}'] }),
      () => '{}',
      () => grow.of('value'),
    ),
  'metric data': (grow) => {
    const kind = grow.pick(...kinds);
    return named(
      kind,
      object(
        grow,
        listOf(grow, 'dataPoints', `${kind} point`),
        named('aggregationTemporality', grow.pick('2', '1', '"AGGREGATION_TEMPORALITY_DELTA"', '9')),
        named('isMonotonic', grow.pick('true', 'false')),
      ),
    );
  },
  'gauge point': (grow) =>
    object(
      grow,
      ...pointMembers(grow),
      named(grow.pick('asDouble', 'asInt'), number(grow)),
      listOf(grow, 'exemplars', 'exemplar'),
    ),
  'sum point': (grow) => grow.of('gauge point'),
  'histogram point': (grow) =>
    object(
      grow,
      ...pointMembers(grow),
      named('count', number(grow)),
      named('sum', number(grow)),
      listOfNumbers(grow, 'bucketCounts'),
      listOfNumbers(grow, 'explicitBounds'),
      listOf(grow, 'exemplars', 'exemplar'),
    ),
  'exponentialHistogram point': (grow) =>
    object(
      grow,
      ...pointMembers(grow),
      named('count', number(grow)),
      named('scale', grow.pick('3', '-10', '20', '2147483647')),
      named('zeroCount', number(grow)),
      named('positive', { all: ['{"offset":-3,', listOfNumbers(grow, 'bucketCounts'), '}'] }),
      named('negative', { all: ['{', listOfNumbers(grow, 'bucketCounts'), '}'] }),
      listOf(grow, 'exemplars', 'exemplar'),
    ),
  'summary point': (grow) =>
    object(
      grow,
      ...pointMembers(grow),
      named('count', number(grow)),
      named('sum', number(grow)),
      listOf(grow, 'quantileValues', 'quantile'),
    ),
  quantile: (grow) => ({ all: ['{"quantile":', number(grow), ',"value":', number(grow), '}'] }),
  exemplar: (grow) =>
    grow.mostly(
      () =>
        object(
          grow,
          timeOf(grow, 'timeUnixNano'),
          named(grow.pick('asDouble', 'asInt'), number(grow)),
          grow.of('ids'),
          listOf(grow, 'filteredAttributes', 'attribute'),
        ),
      () => '{}',
      () => grow.of('value'),
    ),
};

/** The rules of a signal that stand in place of those of spans; `span` is its item, or a metric. */
export const jsonItemRules = { logs: logRules, otel_metrics: metricRules } as const;
