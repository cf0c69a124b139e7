import { describe, expect, it } from 'vitest';
import { differenceWords } from '../../../console/src/pages/line/words.ts';
import { fieldChanges } from '../../../console/src/pages/system/changes.ts';
import {
  closedWith,
  type Difference,
  kindText,
  ownerOf,
} from '../../../console/src/pages/system/differences.ts';
import { differenceKinds } from '../../../src/account/difference.ts';
import { differenceText } from '../../../src/cli/differences.ts';
import { readDocument } from '../../support/docs-code.ts';

describe('the changes of an audit entry', () => {
  it('are the fields that differ, also inside of others, and not who changed them', () => {
    const before = { name: 'a', policy: { rate: 5, burst: 9 }, tags: ['x'], last_modify_time: 1 };
    const after = {
      name: 'a',
      policy: { rate: 7, burst: 9 },
      tags: ['x', 'y'],
      last_modify_time: 2,
      on: true,
    };
    expect(fieldChanges(before, after)).toEqual([
      { field: 'policy.rate', before: '5', after: '7' },
      { field: 'tags', before: '["x"]', after: '["x","y"]' },
      { field: 'on', before: undefined, after: 'true' },
    ]);
  });

  it('of a new or a removed record are all of its fields', () => {
    expect(fieldChanges(null, { id: 1 })).toEqual([{ field: 'id', before: undefined, after: '1' }]);
    expect(fieldChanges({ id: 1 }, null)).toEqual([{ field: 'id', before: '1', after: undefined }]);
    expect(fieldChanges(undefined, undefined)).toEqual([]);
  });

  // Names of dimensions and settings are chosen by users.
  it('keep fields that are named like parts of objects', () => {
    const after: unknown = JSON.parse('{"__proto__":{"polluted":1},"constructor":"c"}');
    expect(fieldChanges(null, after).map(({ field }) => field)).toEqual([
      '__proto__.polluted',
      'constructor',
    ]);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });
});

const difference = (change: Partial<Difference>): Difference => ({
  kind: 'lost_in_the_stream',
  items: 1,
  messages: 1,
  stream: 'METRICS',
  owners: [7],
  from: 0,
  until: 60,
  is_open: true,
  reason: '',
  ...change,
});

describe('a difference', () => {
  it('of each kind has words, which are those of the CLI', () => {
    for (const kind of differenceKinds) expect(kindText(kind)).toMatch(/^[a-z]/);
    for (const kind of differenceKinds.filter((each) => each !== 'not_known'))
      expect(differenceText(difference({ kind }))).toContain(`${kindText(kind)}: 1 item in 1 message`);
    const unknown = differenceText(difference({ kind: 'not_known', items: 0, stream: '' }));
    expect(unknown).toContain(`${kindText('not_known')}: the books cannot be compared`);
  });

  it('of each kind has the meaning and the remedy of its row in docs/outcomes.md', () => {
    const plain = readDocument('docs/outcomes.md').replaceAll(/\[([^\]]*)\]\([^)]*\)|`/g, '$1');
    for (const kind of differenceKinds) {
      const [meaning, remedy] = differenceWords[kind];
      const row = plain.split('\n').find((line) => line.startsWith(`| ${kind} | ${meaning}`));
      expect(row).toContain(` | ${remedy.replace(/ \(docs.*/, '')}`);
    }
  });

  it('names its owner as a closing does, also where nobody knows it', () => {
    expect(ownerOf(difference({}))).toEqual({ data_id: 7 });
    for (const stream of ['TRACES', 'LOGS']) expect(ownerOf(difference({ stream }))).toEqual({ app_id: 7 });
    expect(ownerOf(difference({ owners: [] }))).toEqual({ data_id: 0 });
  });

  it('is closed with every other open one of its kind and owner, and with no other', () => {
    const one = difference({});
    const same = difference({ from: 60 });
    const others = [
      difference({ is_open: false }),
      difference({ kind: 'stuck' }),
      difference({ owners: [8] }),
      difference({ stream: 'TRACES' }),
    ];
    expect(closedWith([one, same, ...others], one)).toEqual([one, same]);
  });
});
