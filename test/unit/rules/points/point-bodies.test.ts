import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { pushBodies } from '../../../../bench/bodies.ts';
import { shapedBodies } from '../../../../bench/shapes.ts';
import { encodePush, type PushTask } from '../../../../src/ingress/push/encode.ts';
import type { Layout } from '../../../../src/model/records.ts';
import { pointElementsMax } from '../../../../src/rules/points/point-encoder.ts';
import { always } from '../../../support/properties.ts';
import { encodePushByObjects } from '../../../support/push/objects/push-by-objects.ts';
import { bodyText, knownDimensions, knownMetrics, token } from '../../../support/push/push-bodies.ts';
import { expectSamePush } from '../../../support/push/same-push.ts';
import { arrivedAt, contextWith, encodeWithNames, sourceWith } from '../../../support/push/source.ts';

// One reader goes over the bytes of every body. What it makes of them is compared with the same points as objects.

const taskOf = (layout: Layout, change: Partial<PushTask> = {}): PushTask => {
  const table = sourceWith(layout, knownMetrics, knownDimensions);
  return {
    ...contextWith(table),
    ...{ pair: { dataId: table.dataId, token }, table, pointsMax: 50_000, elementsMax: 4_000_000 },
    ...change,
  };
};
const tasks: readonly PushTask[] = (['wide', 'narrow'] as const).flatMap((layout) => [
  taskOf(layout),
  taskOf(layout, { isKeyed: true }),
  // No names are left but one of each kind.
  taskOf(layout, {
    caps: { metricsMax: knownMetrics.length + 1, dimensionsMax: knownDimensions.length + 1 },
  }),
  taskOf(layout, { caps: { metricsMax: 3, dimensionsMax: 2 }, policy: { aheadMsMax: 500, ageMsMax: 500 } }),
]);

const bodyOf = (...points: readonly string[]): Buffer =>
  Buffer.from(`{"access_token":"${token}","data":[${points.join(',')}],"data_id":1500001}`);

describe('the reader of bodies and the way of objects agree', () => {
  it('on bodies in every form of JSON, and in forms that are none', () => {
    const seen = new Map<string, number>();
    always(
      fc.property(bodyText, fc.constantFrom(...tasks), (text, task) => {
        const push = expectSamePush(Buffer.from(text), task);
        const outcomes =
          push.kind === 'refused'
            ? [push.reason]
            : [push.encoded.accepted > 0 ? 'kept' : 'none', ...push.encoded.dropped.keys()];
        for (const each of outcomes) seen.set(each, (seen.get(each) ?? 0) + 1);
      }),
      2000,
    );
    // What does not come proves nothing.
    expect(seen.get('kept')).toBeGreaterThan(500);
    for (const reason of ['body_not_json', 'credentials_differ', 'metric_not_finite', 'dimension_invalid'])
      expect(seen.get(reason), reason).toBeGreaterThan(6);
  });

  it('on bodies with a byte changed, left out or put in, UTF-8 or not', () => {
    always(
      fc.property(
        bodyText,
        fc.constantFrom(...tasks),
        fc.nat(),
        fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('",:{}[]\\'), 0xc3, 0xff, 0xf0)),
        fc.constantFrom(0, 1, 2),
        (text, task, place, byte, kind) => {
          const body = Buffer.from(text);
          const at = place % body.length;
          const from = kind === 2 ? at : at + 1;
          const added = kind === 1 ? [] : [byte];
          expectSamePush(
            Buffer.concat([body.subarray(0, at), Buffer.from(added), body.subarray(from)]),
            task,
          );
        },
      ),
      2000,
    );
  });

  it.each([
    ['of one message', 500],
    ['of several messages', 12_000],
  ])('on bodies as clients write them, %s', (_, points) => {
    const [body = Buffer.alloc(0)] = pushBodies(1, points, 1500001, token, arrivedAt);
    for (const task of [taskOf('wide'), taskOf('narrow')])
      expect(expectSamePush(body, task).kind).toBe('encoded');
  });
});

/** Members of objects that `run` builds of JSON. */
const built = (run: () => unknown): number => {
  const parse = vi.spyOn(JSON, 'parse');
  const set = vi.spyOn(Reflect, 'set');
  try {
    run();
    return parse.mock.calls.length + set.mock.calls.length;
  } finally {
    parse.mockRestore();
    set.mockRestore();
  }
};

// A change that quietly left points to the slow way would pass each comparison above.
describe('no object is built', () => {
  it.each(shapedBodies(1, 50, arrivedAt))(
    'of a point as clients write it: $shape',
    ({ written: [body = Buffer.alloc(0)], task }) => {
      const push = encodePush(body, task);
      expect(push.kind === 'encoded' ? push.encoded.accepted : push).toBe(50);
      expect(built(() => encodePush(body, task))).toBe(0);
    },
  );

  const good = `{"timestamp":${arrivedAt},"metrics":{"cpu":1.0}}`;
  const forms: readonly (readonly [string, string])[] = [
    ['a new name', '{"metrics":{"new":1},"dimension":{"other":"x"}}'],
    ['members that are not stored', '{"note":{"a":[1,"\\u00e9",null]},"metrics":{"cpu":1},"Target":5}'],
    ['texts with escapes', '{"metrics":{"c\\u0070u":1e3},"target":"\\ud83d\\ude00 \\"\\/\\n\\u6f22"}'],
    ['nulls where they may be', '{"metrics":{"cpu":1},"target":null,"dimension":null,"timestamp":null}'],
    ['a time with a fraction of zero', `{"metrics":{"cpu":1},"timestamp":${arrivedAt}.0}`],
    [
      'a target and dimensions that are numbers',
      '{"metrics":{"cpu":1},"target":7,"dimension":{"host":-1.5}}',
    ],
    [
      'both spellings of dimensions',
      '{"metrics":{"cpu":1},"dimension":{"host":"a"},"dimensions":{"host":"b","host":[NaN]}}',
    ],
    ['one spelling that is null', '{"metrics":{"cpu":1},"dimension":null,"dimensions":{"host":"a"}}'],
    ['the other that is null', '{"dimensions":{"host":"a"},"dimension":null,"metrics":{"cpu":1}}'],
    ['a text of 100 KiB', `{"metrics":{"cpu":1},"target":"${'t'.repeat(102_400)}"}`],
  ];
  it.each(forms)('of a point with %s', (_, point) => {
    expect(built(() => expect(encodePush(bodyOf(good, point), taskOf('wide')).kind).toBe('encoded'))).toBe(0);
    expectSamePush(bodyOf(good, point), taskOf('wide'));
  });

  const odd: readonly (readonly [string, string])[] = [
    ['a name twice', '{"metrics":{"cpu":1,"cpu":2}}'],
    ['a number that is infinite', '{"metrics":{"cpu":1,"cpu":2},"dimension":{"host":1e400}}'],
    ['a zero below zero', '{"metrics":{"cpu":1,"cpu":-0.0},"dimension":{"host":-0.0}}'],
    ['a member twice', '{"metrics":{"cpu":1},"target":"a","target":"b"}'],
    ['another spelling before', '{"metrics":{"cpu":1},"dimensions":{"host":"b"},"dimension":{"host":"a"}}'],
    ['what is dropped', '{"metrics":{"cpu":"x"}}'],
    ['what is deferred', '{"metrics":{"cpu":1},"timestamp":1}'],
    ['a time that is a text', '{"metrics":{"cpu":1},"timestamp":"2026-06-01T12:00:00Z"}'],
    ['a time that is a truth value', '{"metrics":{"cpu":1},"timestamp":false}'],
  ];
  // Member by member it took six to twenty-five times as long as a plain point.
  it.each(odd)('of the points beside one with %s, and that one in one call', (_, point) => {
    const body = bodyOf(good, point, good);
    expect(built(() => encodePush(body, taskOf('wide')))).toBe(1);
    expectSamePush(body, taskOf('wide'));
  });

  const exact: readonly (readonly [string, string])[] = [
    ['a bare number', '{"metrics":{"cpu":1},"note":[-Infinity],"timestamp":1}'],
    ['a long whole number', '{"metrics":{"cpu":1,"cpu":2},"target":1234567890123456789}'],
  ];
  it.each(exact)('of a point with %s but by members', (_, point) => {
    const body = bodyOf(good, point, good);
    expect(built(() => encodePush(body, taskOf('wide')))).toBeGreaterThan(1);
    expectSamePush(body, taskOf('wide'));
  });

  // V8 takes a name with an escape for a name of an object before it that has as many members, and the same ones before it.
  const alike: readonly (readonly [string, string])[] = [
    ['{"metrics":{"disk_b":1,"\\\\u0":1,"o":1}}', '{"metrics":{"disk_b":1,"\\u006dem":2,"disk_b":3}}'],
    [
      '{"source":"x","\\\\u0074":"z","c":1,"d":1}',
      `{"source":"y","\\u0074arget":"db-1","metrics":{"cpu":1,"cpu":2},"timestamp":${arrivedAt}}`,
    ],
    ['{"metrics":{"q":"a","C:\\\\":1}}', '{"metrics":{"q":1,"C:\\/":1}}'],
  ];
  it.each(alike)('of a name with escapes but by members: %s before %s', (before, point) => {
    encodePush(bodyOf(before), taskOf('wide'));
    expectSamePush(bodyOf(point), taskOf('wide'));
  });

  it('of the points beside one that is not UTF-8, nor of that one', () => {
    const [before = '', behind = ''] = bodyOf(good, '{"metrics":{"cpu":1},"target":"*"}', good)
      .toString()
      .split('*');
    const body = Buffer.concat([Buffer.from(before), Buffer.from([0xe6, 0xbc, 0xff]), Buffer.from(behind)]);
    expect(built(() => encodePush(body, taskOf('wide')))).toBe(0);
    expectSamePush(body, taskOf('wide'));
  });

  it('of points that are all in another encoding', () => {
    const point = `{"metrics":{"cpu":1},"target":"\u00e9","dimension":{"host":"\u00ff"},"timestamp":${arrivedAt}}`;
    const body = Buffer.from(bodyOf(point, point, point).toString(), 'latin1');
    for (const task of [taskOf('wide'), taskOf('narrow')]) {
      expect(built(() => encodePush(body, task))).toBe(0);
      expectSamePush(body, task);
    }
  });

  it('of a point with more members than any message has room for, which is dropped alone', () => {
    const large = `{"metrics":{${'"cpu":1,'.repeat(pointElementsMax)}"a":1}}`;
    for (const layout of ['wide', 'narrow'] as const) {
      const task = taskOf(layout);
      const body = bodyOf(good, large, large, good);
      const push = encodePush(body, task);
      if (push.kind !== 'encoded') throw new Error(push.reason);
      expect([push.encoded.accepted, ...push.encoded.dropped]).toEqual([2, ['item_too_large', 2]]);
      expect(push.encoded.examples.map(({ index, detail }) => [index, detail, push.pointAt(index)])).toEqual(
        [1, 2].map((index) => [index, 'the point has more than 131072 members and elements', undefined]),
      );
      // Each takes one uid, and a message of its own.
      expect(push.encoded.runs.map(({ first, last, points }) => [first, last, points])).toEqual([
        [0, 0, 1],
        [1, 1, 0],
        [2, 2, 0],
        [3, 3, 1],
      ]);
      expect(built(() => encodePush(body, task))).toBe(0);
    }
  });

  // Each one was a member of an object, and the points with one dimension more than columns cost several times the others.
  it.each([64, 65, 80, 128])('of a point with %s dimensions in a table of 64', (count) => {
    const members = Array.from({ length: count }, (_, index) => `"d${index}":"a ${index}=漢"`);
    const [more, wrap] = [vi.spyOn(Object, 'fromEntries'), vi.spyOn(JSON, 'stringify')];
    const point = `{"dimension":{${members},"yes":true,"number":-1.50},"metrics":{"cpu":1},"timestamp":${arrivedAt}}`;
    for (const layout of ['wide', 'narrow'] as const) {
      const task = taskOf(layout, { caps: { metricsMax: 512, dimensionsMax: 64 } });
      more.mockClear();
      wrap.mockClear();
      expect(built(() => encodePush(bodyOf(point, point), task))).toBe(0);
      expect([more.mock.calls.length, wrap.mock.calls.length]).toEqual([0, 0]);
      expectSamePush(bodyOf(point, point), task);
    }
    more.mockRestore();
    wrap.mockRestore();
  });

  it('of what is nested deep beside the members that count', () => {
    const deep = `${'['.repeat(60_000)}${']'.repeat(60_000)}`;
    const push = encodePush(bodyOf(good, `{"metrics":{"cpu":1},"note":${deep}}`, deep), taskOf('wide'));
    expect(push.kind === 'encoded' ? [push.encoded.accepted, ...push.encoded.dropped] : push).toEqual([
      2,
      ['point_not_object', 1],
    ]);
  });
});

describe('a number', () => {
  it.each([
    ['12.0', '12'],
    ['-0.0', '-0'],
    ['1.50', '1.5'],
    ['100', '100'],
    ['0.1000000000000000055', '0.1'],
    ['1E-5', '0.00001'],
    ['1e21', '1e+21'],
  ])('written as %s is stored as %s', (written, stored) => {
    const push = encodePush(bodyOf(`{"metrics":{"cpu":${written}}}`), taskOf('wide'));
    expect(push.kind === 'encoded' && push.encoded.runs[0]?.text).toContain(` cpu=${stored},uid=`);
  });
});

// Retries are recognised by first and last uid of each message.
describe('a request is cut where it was cut before', () => {
  const longTarget = `"target":"${'漢'.repeat(40)}"`;
  it.each([
    `{"metrics":{"cpu":1}}`,
    `{"metrics":{"cpu":1},"dimension":null}`,
    `{"metrics":{"cpu":1},"dimensions":null}`,
    `{"metrics":{"cpu":1},"dimensions":{}}`,
    `{"target":null,"metrics":{"cpu":1,"a":2},"timestamp":null}`,
    `{"timestamp":${arrivedAt},"target":7,"metrics":{"cpu":1}}`,
    `{"dimension":{"host":"\\ud83d\\ude00\\ud83d\\n","module":null},${longTarget},"metrics":{"cpu":1}}`,
    `{"dimension":{"host":true,"other":1.5},"note":[1,2],"metrics":{"cpu":1,"new":2}}`,
    `{"metrics":{"cpu":1,"cpu":2},"target":"a","target":"bcd"}`,
    `{"metrics":{"cpu":[1,{"a":"b"}]},"target":{"a":1}}`,
    `5`,
  ])('of points as %s', (point) => {
    const body = bodyOf(...Array.from({ length: 9_000 }, () => point));
    const edges = (push: ReturnType<typeof encodePush>) =>
      push.kind === 'encoded' ? push.encoded.runs.map(({ first, last }) => [first, last]) : push;
    for (const task of [taskOf('wide'), taskOf('narrow')])
      expect(edges(encodePush(body, task))).toEqual(edges(encodePushByObjects(body, task)));
  });
});

describe('a dimension beyond the cap', () => {
  it.each(['"\\ud800"', '""', '"\\u0001\\n\\\\"', '"a\\ud83d\\ude00\\"b"', '"漢"', '-1.50', 'true', 'null'])(
    'keeps its text: %s',
    (value) => {
      const body = bodyOf(`{"metrics":{"cpu":1},"dimension":{"host":"a","zone":${value}}}`);
      expectSamePush(body, taskOf('wide', { caps: { metricsMax: 5, dimensionsMax: 4 } }));
      expectSamePush(body, taskOf('narrow', { caps: { metricsMax: 5, dimensionsMax: 4 } }));
      const several = bodyOf(
        `{"metrics":{"cpu":1},"dimension":{"a":${value},"__proto__":${value},"c":${value}}}`,
      );
      expectSamePush(several, taskOf('wide', { caps: { metricsMax: 5, dimensionsMax: 4 } }));
    },
  );

  it('has U+FFFD in the place of half a pair, as a column has it', () => {
    const dimension = '{"a":"x\\ud800y","b":"x\\ud800y"}';
    const push = encodePush(
      bodyOf(`{"metrics":{"cpu":1},"dimension":${dimension}}`),
      taskOf('wide', { caps: { metricsMax: 5, dimensionsMax: 0 }, namesAreFinal: true }),
    );
    expect(push.kind === 'encoded' ? push.encoded.runs[0]?.text : push).toContain(
      'more_dimensions="{\\"a\\":\\"x\uFFFDy\\",\\"b\\":\\"x\uFFFDy\\"}"',
    );
  });
});

describe('a name that is new', () => {
  // Names of kept points were counted again with each later point, so that the last columns of a table were denied to a first push, and
  // the second pass, which gave them, failed.
  it.each(['wide', 'narrow'] as const)('takes one of the columns that are left, once (%s)', (layout) => {
    const data = [{ a: 1, b: 1 }, { a: 1, b: 1, c: 1 }, { d: 1 }].map((metrics) => ({ metrics }));
    const context = contextWith(sourceWith(layout), { caps: { metricsMax: 3, dimensionsMax: 3 } });
    const { accepted, dropped, valuesDropped } = encodeWithNames(data, context);
    expect([accepted, [...dropped], [...valuesDropped]]).toEqual([2, [['metric_columns_exceeded', 1]], []]);
  });
});

describe('a whole number beyond 2^53', () => {
  const ids = ['1234567890123456789', '1234567890123456790', '-9223372036854775808', '18446744073709551615'];
  // The second point has a name twice, so it is read by way of an object.
  const pointOf = (id: string, again = ''): string =>
    `{"metrics":{"a":1${again}},"target":${id},"dimension":{"host":${id}},"timestamp":${arrivedAt}}`;

  it.each(tasks.slice(0, 1))('keeps its digits as a dimension and a target, on both ways', (task) => {
    for (const id of ids) {
      const push = expectSamePush(bodyOf(pointOf(id), pointOf(id, ',"a":1')), task);
      if (push.kind === 'refused') throw new Error(push.detail);
      const rows = push.encoded.runs
        .map(({ text }) => text)
        .join('')
        .trim()
        .split('\n');
      expect(rows.map((row) => [row.split(id).length - 1, push.encoded.accepted])).toEqual([
        [2, 2],
        [2, 2],
      ]);
    }
  });

  it.each(['1234567890123456789.0', '1234567890123456789e0', '123456789012345678901', '1e20'])(
    'is the text of its double where it has a fraction, an exponent or more than 20 digits: %s',
    (written) => {
      for (const again of ['', ',"a":1']) {
        const push = expectSamePush(bodyOf(pointOf(written, again)), tasks[0] ?? taskOf('wide'));
        if (push.kind === 'refused') throw new Error(push.detail);
        expect(push.encoded.runs[0]?.text).toContain(`target=${Number(written)}`);
      }
    },
  );

  it.each([
    ['once', '"a":9007199254740995', 1],
    ['after another value', '"a":1,"a":9007199254740995', 1],
    ['before another value', '"a":9007199254740995,"a":1', 0],
    ['with thirty digits', '"a":1,"a":123456789012345678901234567890', 1],
    ['as a double', '"a":1,"a":9007199254740992', 0],
  ])('is counted as rounded as a metric that is given %s', (_, metrics, rounded) => {
    const push = encodePush(bodyOf(`{"metrics":{${metrics}},"timestamp":${arrivedAt}}`), taskOf('wide'));
    expect(push).toMatchObject({ kind: 'encoded', encoded: { accepted: 1, valuesRounded: rounded } });
  });
});

describe('a text with bytes that are not UTF-8', () => {
  it('is stored with U+FFFD in their place, as the documents say', () => {
    const point = `{"metrics":{"a":1},"target":"b\u00e9","dimension":{"host":"\u00ff"},"timestamp":${arrivedAt}}`;
    const bytes = Buffer.from(bodyOf(point).toString('utf8'), 'latin1');
    const push = expectSamePush(bytes, taskOf('wide'));
    if (push.kind === 'refused') throw new Error(push.detail);
    expect([push.encoded.accepted, push.encoded.dropped.size]).toEqual([1, 0]);
    expect(push.encoded.runs[0]?.text).toMatch(/,target=b\ufffd.*=\ufffd/);
  });
});
