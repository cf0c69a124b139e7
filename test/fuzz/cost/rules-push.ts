import { arrivedAt, pushCredential } from './credentials.ts';
import type { Part } from './parts.ts';
import type { Rule, Rules } from './rules.ts';
import { jsonRules } from './rules-json.ts';

const { dataId, token } = pushCredential;

const quoted = (grow: Parameters<Rule>[0], name: string): string =>
  grow.chance(10) ? `"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}"` : `"${name}"`;

const named =
  (name: string, rule: string): Rule =>
  (grow) => ({
    all: [
      quoted(grow, name),
      ':',
      grow.mostly(
        () => grow.of(rule),
        () => grow.of('value'),
      ),
    ],
  });

/** Members of a body that are no points; the right credential is among them more often than not. */
const head: Rule = (grow) =>
  grow.mostly(
    () => ({ all: [`"data_id":${dataId}`, `"access_token":"${token}"`], between: ',' }),
    () => ({ all: [`"access_token":"${token}"`, `"data_id":${dataId}`], between: ',' }),
    () => ({
      all: [
        `"data_id":1,"access_token":"x"`,
        grow.of('member'),
        `"data_id":${dataId},"access_token":"${token}"`,
      ],
      between: ',',
    }),
    () => ({ all: [grow.of('member'), `"data_id":${dataId}`], between: ',' }),
    () => ({
      all: [{ repeat: '"data_id":1', between: ',' }, `"data_id":${dataId},"access_token":"${token}"`],
      between: ',',
    }),
    () => ({ all: ['"data_id":', grow.of('value'), ',"access_token":', grow.of('value')] }),
    () => ({ all: [`"data_id":${dataId},"access_token":`, grow.of('string')] }),
  );

const data: Rule = (grow) => ({
  all: [
    grow.chance(12) ? '"\\u0064ata":' : '"data":',
    grow.mostly(
      () => ({ all: ['[', grow.of('points'), ']'] }),
      () => grow.of('value'),
      () => ({ all: ['[', grow.of('points'), '],"data":[', grow.of('points'), ']'] }),
    ),
  ],
});

const points: Rule = (grow) =>
  grow.mostly(
    () => grow.many('point'),
    () => ({ all: [grow.many('point'), grow.of('point')], between: ',' }),
    () => ({ all: [grow.of('point'), grow.many('point')], between: ',' }),
    () => ({ all: [grow.many('point'), grow.many('point')], between: ',' }),
    () => ({ all: [grow.many('point'), grow.pick(',', '', ' ', ',{"metrics":{"cpu":NaN}}')] }),
    () => grow.many('value'),
  );

const point: Rule = (grow) =>
  grow.mostly(
    () => ({
      all: [
        '{',
        grow.some(
          ['metrics', 'target', 'dimension', 'timestamp', 'extra'].map((rule) => grow.of(rule)),
          ',',
        ),
        '}',
      ],
    }),
    () => ({ all: ['{', grow.of('metrics'), ',', grow.of('timestamp'), '}'] }),
    () => ({ all: ['{', grow.of('metrics'), ',', grow.of('dimension'), '}'] }),
    () => ({ all: ['{', grow.of('metrics'), '}'] }),
    () => grow.of('value'),
  );

const extra: Rule = (grow) => (grow.chance(3) ? grow.of('member') : '"x":0');

const metrics = named('metrics', 'metric list');
const metricList: Rule = (grow) =>
  grow.mostly(
    () => ({ all: ['{', grow.many('metric'), '}'] }),
    () => ({ all: ['{', grow.of('metric'), '}'] }),
    () => ({ all: ['{', grow.many('metric'), ',', grow.of('metric'), '}'] }),
    () => ({ all: ['{', grow.many('member'), '}'] }),
  );
const metric: Rule = (grow) => ({
  all: [
    grow.mostly(
      () => grow.pick('"cpu"', '"m#"', '"new#"', '"a#"'),
      () => grow.of('name'),
    ),
    ':',
    grow.mostly(
      () => grow.of('number'),
      () => grow.of('value'),
    ),
  ],
});

const dimension: Rule = (grow) => ({
  all: [
    grow.pick('"dimension"', '"dimension"', '"dimensions"'),
    ':',
    grow.mostly(
      () => ({ all: ['{', grow.many('label'), '}'] }),
      () => grow.of('value'),
    ),
  ],
});
const label: Rule = (grow) => ({
  all: [
    grow.mostly(
      () => grow.pick('"module"', '"d#"', '"new#"'),
      () => grow.of('name'),
    ),
    ':',
    grow.mostly(
      () => grow.of('string'),
      () => grow.of('value'),
    ),
  ],
});

const target = named('target', 'string');

const timestamp: Rule = (grow) => ({
  all: [
    '"timestamp":',
    grow.mostly(
      () => grow.pick(String(arrivedAt), `${arrivedAt}.0`, `${arrivedAt / 1000}e3`),
      () => grow.pick('1', '0', '-5', '9999999999999', '1e300', '"1"', 'null'),
      () => grow.of('value'),
    ),
  ],
});

const body: Rule = (grow) => {
  const members: Part[] = [grow.of('head'), grow.of('data')];
  if (grow.chance(4)) members.push(grow.of('member'));
  if (grow.chance(8)) members.push(grow.many('member'));
  return {
    all: [
      grow.chance(20) ? { hex: 'efbbbf' } : '',
      '{',
      grow.chance(4) ? { all: members.toReversed(), between: ',' } : { all: members, between: ',' },
      grow.mostly(
        () => '}',
        () => '',
        () => ',}',
        () => '}}',
        () => grow.of('value'),
      ),
    ],
  };
};

/** Bodies of the push API, and what looks like them. */
export const pushRules: Rules = {
  all: {
    ...jsonRules,
    ...{ body, head, data, points, point, extra, metrics, 'metric list': metricList, metric },
    ...{ dimension, label, target, timestamp },
  },
  leaf: (grow) => grow.pick('0', '1', '""', 'null', '{}', '[]'),
};
