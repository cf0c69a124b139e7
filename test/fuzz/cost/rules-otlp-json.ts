import type { ApplicationPipeline } from '../../../src/model/signals.ts';
import { nanosAt } from '../../support/otlp/trace-source.ts';
import { pushCredential, tokenKey } from './credentials.ts';
import type { Part } from './parts.ts';
import type { Grow, Rule, Rules } from './rules.ts';
import { jsonRules } from './rules-json.ts';
import { jsonItemRules } from './rules-otlp-json-items.ts';

/** The names of the lists of a body, from the outermost. */
export type Lists = { readonly resources: string; readonly scopes: string; readonly items: string };

export const listsOf: Readonly<Record<ApplicationPipeline, Lists>> = {
  traces: { resources: 'resourceSpans', scopes: 'scopeSpans', items: 'spans' },
  logs: { resources: 'resourceLogs', scopes: 'scopeLogs', items: 'logRecords' },
  otel_metrics: { resources: 'resourceMetrics', scopes: 'scopeMetrics', items: 'metrics' },
};

const tokenAttribute = `{"key":"${tokenKey}","value":{"stringValue":"${pushCredential.token}"}}`;

/** A member of this name, or of its second form. */
const member = (grow: Grow, name: string, usual: () => Part, other = 'value'): Part => ({
  all: [
    grow.chance(12) ? `"${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}"` : `"${name}"`,
    ':',
    grow.mostly(usual, () => grow.of(other)),
  ],
});

const listOf = (grow: Grow, rule: string): Part => ({ all: ['[', grow.many(rule), ']'] });

/** An object of these members, now and then with more of them, or with one twice. */
const object = (grow: Grow, ...names: readonly string[]): Part => ({
  all: [
    '{',
    grow.some(
      [...names, ...(grow.chance(6) ? ['member'] : []), ...(grow.chance(8) ? names.slice(0, 1) : [])].map(
        (name) => grow.of(name),
      ),
      ',',
    ),
    grow.chance(20) ? ',' : '',
    '}',
  ],
});

const body: Rule = (grow) => ({
  all: [
    '{',
    grow.mostly(
      () => grow.of('resourceSpans list'),
      () => ({ all: [grow.many('member'), grow.of('resourceSpans list')], between: ',' }),
      () => ({ all: [grow.of('resourceSpans list'), grow.many('member')], between: ',' }),
      () => ({ all: [grow.of('resourceSpans list'), grow.of('resourceSpans list')], between: ',' }),
      () => ({ all: [`"x":"${tokenKey}"`, grow.many('member')], between: ',' }),
    ),
    grow.mostly(
      () => '}',
      () => '',
      () => ',}',
      () => '}}',
    ),
  ],
});

/** Rules of bodies of one signal up to its items, and of spans. */
const rulesOf = ({ resources, scopes, items }: Lists): Record<string, Rule> => ({
  body,
  'resourceSpans list': (grow) => member(grow, resources, () => listOf(grow, 'resourceSpans')),
  resourceSpans: (grow) =>
    grow.mostly(
      () => object(grow, 'resource', 'scopeSpans list'),
      () => ({ all: ['{', grow.of('resource'), '}'] }),
      () => ({ all: ['{', grow.of('scopeSpans list'), ',', grow.of('resource'), '}'] }),
      () => '{}',
    ),
  resource: (grow) => member(grow, 'resource', () => ({ all: ['{', grow.of('resource attributes'), '}'] })),
  'resource attributes': (grow) =>
    member(grow, 'attributes', () =>
      grow.mostly(
        () => ({ all: ['[', tokenAttribute, ',', grow.many('attribute'), ']'] }),
        () => ({ all: ['[', grow.many('attribute'), ',', tokenAttribute, ']'] }),
        () => listOf(grow, 'attribute'),
        () => ({
          all: ['[', { repeat: tokenAttribute.replace(/[0-9a-f]{32}/, 'token #'), between: ',' }, ']'],
        }),
      ),
    ),
  'scopeSpans list': (grow) => member(grow, scopes, () => listOf(grow, 'scopeSpans')),
  scopeSpans: (grow) => object(grow, 'scope', 'spans'),
  scope: (grow) =>
    member(grow, 'scope', () => ({
      all: ['{"name":', grow.of('string'), ',"version":', grow.of('string'), '}'],
    })),
  spans: (grow) => member(grow, items, () => listOf(grow, 'span')),
  span: (grow) =>
    grow.mostly(
      () => ({
        all: [
          '{',
          grow.of('ids'),
          ',',
          grow.of('times'),
          ',',
          grow.some(
            ['name field', 'attributes', 'events', 'links', 'status', 'kind'].map((each) => grow.of(each)),
            ',',
          ),
          '}',
        ],
      }),
      () => ({ all: ['{', grow.of('ids'), ',', grow.of('times'), '}'] }),
      () => ({ all: ['{', grow.of('ids'), ',', grow.of('times'), ',', grow.of('attributes'), '}'] }),
      () => object(grow, 'ids', 'times', 'attributes', 'member'),
      () => grow.of('value'),
    ),
  ids: (grow) =>
    grow.mostly(
      () => ({
        all: [
          '"traceId":"',
          { noise: '0-9a-f', bytes: 32 },
          '","spanId":"',
          { noise: '1-9a-f', bytes: 16 },
          '"',
        ],
      }),
      () =>
        '"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B174","parentSpanId":"EEE19B7EC3C1B175"',
      () => '"traceId":"W47/95gDgQPSabYzgT/GDA==","spanId":"7uGbfsPBsXQ="',
      () => ({ all: ['"traceId":', grow.of('value'), ',"spanId":', grow.of('value')] }),
    ),
  times: (grow) => {
    const now = nanosAt(-1000);
    const days = nanosAt(-1000).slice(0, 5);
    return grow.mostly(
      () => `"startTimeUnixNano":"${now}","endTimeUnixNano":"${now}"`,
      () => `"startTimeUnixNano":${now},"endTimeUnixNano":${now}`,
      () => `"startTimeUnixNano":"${days}#00000000000","endTimeUnixNano":"${nanosAt(0)}"`,
      () => '"startTimeUnixNano":{"low":1,"high":412345678},"endTimeUnixNano":{"low":1,"high":412345678}',
      () => '"startTimeUnixNano":"9000000000000000000","endTimeUnixNano":"9000000000000000000"',
      () => '"startTimeUnixNano":1.78e18,"endTimeUnixNano":1.780315200000000000e18',
      () => ({ all: ['"startTimeUnixNano":', grow.of('value'), ',"endTimeUnixNano":', grow.of('value')] }),
    );
  },
  'name field': (grow) =>
    member(grow, 'name', () =>
      grow.mostly(
        () => grow.pick('"GET /"', '"GET /#"'),
        () => grow.of('string'),
      ),
    ),
  kind: (grow) => member(grow, 'kind', () => grow.pick('2', '"SPAN_KIND_SERVER"', '99', '2.0e0')),
  status: (grow) => member(grow, 'status', () => ({ all: ['{"code":2,"message":', grow.of('string'), '}'] })),
  attributes: (grow) => member(grow, 'attributes', () => listOf(grow, 'attribute')),
  attribute: (grow) =>
    grow.mostly(
      () => ({
        all: [
          '{"key":',
          grow.mostly(
            () => grow.pick('"k#"', '"http.method"'),
            () => grow.of('name'),
          ),
          ',"value":',
          grow.of('any'),
          '}',
        ],
      }),
      () => ({ all: ['{"value":', grow.of('any'), ',"key":', grow.of('name'), '}'] }),
      () => ({ all: ['{ "key": ', grow.of('name'), ', "value": ', grow.of('any'), '}'] }),
      () => object(grow, 'member', 'member'),
      () => '{}',
      () => grow.of('value'),
    ),
  any: (grow) =>
    grow.pick<() => Part>(
      () => '{"stringValue":"v#"}',
      () => ({ all: ['{"stringValue":', grow.of('string'), '}'] }),
      () => ({ all: ['{"stringValue":', grow.of('string'), '}'] }),
      () => ({
        all: [
          '{"intValue":',
          grow.pick<Part>('"12"', '12', '"-9223372036854775808"', grow.of('number'), {
            all: ['"', grow.of('number'), '"'],
          }),
          '}',
        ],
      }),
      () => ({
        all: [
          '{"doubleValue":',
          grow.pick<Part>('1.5', '"NaN"', grow.of('number'), { all: ['"', grow.of('number'), '"'] }),
          '}',
        ],
      }),
      () => ({
        all: ['{"bytesValue":"', { noise: 'A-Za-z0-9+/' }, grow.pick('', '=', '=='), '"}'],
      }),
      () => ({ all: ['{"arrayValue":{"values":[', grow.many('any'), ']}}'] }),
      () => ({ all: ['{"kvlistValue":{"values":[', grow.many('attribute'), ']}}'] }),
      () => ({ nest: ['{"arrayValue":{"values":[', ']}}'], of: grow.of('any') }),
      () => ({
        nest: ['{"kvlistValue":{"values":[{"key":"k","value":', '}]}}'],
        of: grow.of('any'),
        depth: grow.count(60),
      }),
      () =>
        grow.pick(
          '{}',
          'null',
          '{"stringValue":null}',
          '{"boolValue":true}',
          '{"stringValue":"a","stringValue":"b"}',
          '{"string_value":"a"}',
        ),
      () => ({ all: ['{', grow.many('member'), ',"stringValue":"a"}'] }),
      () => grow.of('value'),
    )(),
  events: (grow) => member(grow, 'events', () => listOf(grow, 'event')),
  event: (grow) =>
    grow.mostly(
      () => ({
        all: [`{"timeUnixNano":"${nanosAt(0)}","name":`, grow.of('string'), ',', grow.of('attributes'), '}'],
      }),
      () => `{"timeUnixNano":"${nanosAt(0)}","name":"e#"}`,
      () => '{}',
      () => grow.of('value'),
    ),
  links: (grow) => member(grow, 'links', () => listOf(grow, 'link')),
  link: (grow) =>
    grow.mostly(
      () => ({
        all: ['{', grow.of('ids'), ',"traceState":', grow.of('string'), ',', grow.of('attributes'), '}'],
      }),
      () => ({ all: ['{', grow.of('ids'), '}'] }),
      () => '{}',
      () => grow.of('value'),
    ),
});

/** Bodies of a signal of OTLP in JSON, and what looks like them. */
export const otlpJsonRules = (pipeline: ApplicationPipeline): Rules => ({
  all: {
    ...jsonRules,
    ...rulesOf(listsOf[pipeline]),
    ...(pipeline === 'traces' ? {} : jsonItemRules[pipeline]),
  },
  leaf: (grow) => grow.pick('0', '""', 'null', '{}', '[]', '{"stringValue":"a"}'),
});
