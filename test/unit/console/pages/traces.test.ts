import { describe, expect, it } from 'vitest';
import { criticalPath } from '../../../../console/src/pages/traces/critical-path.ts';
import { moveOf, unfoldedTo } from '../../../../console/src/pages/traces/moves.ts';
import {
  attributeText,
  isFindable,
  parseAttribute,
  parseDuration,
  searchOf,
  traceIdOf,
} from '../../../../console/src/pages/traces/search.ts';
import {
  buildTree,
  foldsOf,
  type Row,
  type Span,
  shownRows,
  turnedFold,
} from '../../../../console/src/pages/traces/tree.ts';
import { scrollTo, windowOf, zoomOf, zoomText } from '../../../../console/src/pages/traces/window.ts';

const span = (
  id: string,
  parent: string,
  from: number,
  length: number,
  change: Partial<Span> = {},
): Span => ({
  ...{ span_id: id, parent_span_id: parent, name: id, kind: 'Internal', service: 'shop', app_id: 1 },
  ...{ offset_ns: from, duration_ns: length, status: 'Unset', status_message: '', trace_state: '' },
  ...{ scope: { name: '', version: '' }, resource: 0, attributes: [], events: [], links: [] },
  ...change,
});

const drawn = (rows: readonly Row[]): string[] =>
  rows.map(({ key, depth, size, oddities }) => [`${'-'.repeat(depth)}${key}`, size, ...oddities].join(' '));

describe('the tree of a trace', () => {
  it('has every span once, below its parent, in the order of their start', () => {
    const rows = buildTree([
      span('a', '', 0, 100),
      span('b', 'a', 10, 20),
      span('d', 'b', 12, 5),
      span('c', 'a', 40, 20, { status: 'Error' }),
    ]);
    expect(drawn(rows)).toEqual(['a 4', '-b 2', '--d 1', '-c 1']);
    expect(rows.map(({ parent }) => parent)).toEqual([-1, 0, 1, 0]);
    expect(rows.map(({ hasFailedBelow }) => hasFailedBelow)).toEqual([true, false, false, false]);
  });

  it('marks a missing parent, a clock that is off, a repeated id and a ring', () => {
    const rows = buildTree([
      span('early', 'root', 5, 5),
      span('root', '', 10, 20),
      span('root', 'root', 12, 2),
      span('child', 'root', 13, 1),
      span('x', 'y', 20, 1),
      span('below', 'x', 20, 1),
      span('y', 'x', 21, 1),
      span('self', 'self', 22, 1),
      span('late', 'root', 31, 1),
      span('lost', 'none', 32, 1),
    ]);
    expect(drawn(rows)).toEqual([
      'root 5',
      '-early 1 before',
      '-root.2 1 repeated',
      '-child 1',
      '-late 1 after',
      'lost 1 orphan',
      'x 3 cycle',
      '-below 1',
      '-y 1',
      'self 1 cycle',
    ]);
  });

  it('stands a chain of 10,000 and a trace of 10,000 children', () => {
    const chain = Array.from({ length: 10_000 }, (_, at) =>
      span(`${at}`, at === 0 ? '' : `${at - 1}`, at, 20_000),
    );
    expect(buildTree(chain).at(-1)?.depth).toBe(9_999);
    expect(criticalPath(buildTree(chain)).size).toBe(10_000);
    const broad = Array.from({ length: 10_000 }, (_, at) => span(`${at}`, at === 0 ? '' : '0', at, 1));
    expect(buildTree(broad)[0]?.size).toBe(10_000);
    expect(buildTree([])).toEqual([]);
  });

  it('hides what is below a fold, and keeps folds in a text', () => {
    const rows = buildTree([
      span('a', '', 0, 9),
      span('b', 'a', 1, 5),
      span('c', 'b', 2, 1),
      span('d', 'a', 6, 1),
    ]);
    const shown = (fold: string): string =>
      shownRows(rows, foldsOf(fold))
        .map((at) => rows[at]?.key)
        .join('');
    expect(['', 'b', 'a', '*', '*,a', '*,a,b', 'd'].map(shown)).toEqual([
      'abcd',
      'abd',
      'a',
      'a',
      'abd',
      'abcd',
      'abcd',
    ]);
    expect(turnedFold(turnedFold('', 'b'), 'b')).toBe('');
    expect(turnedFold('*', 'a')).toBe('*,a');
    expect(unfoldedTo(rows, 2, 'a,b', foldsOf('a,b'))).toBe('');
    expect(unfoldedTo(rows, 2, '*', foldsOf('*'))).toBe('*,b,a');
  });
});

describe('the critical path', () => {
  it('follows the child that ended last, and its parent where no child ran', () => {
    const rows = buildTree([
      span('a', '', 0, 100),
      span('b', 'a', 10, 30),
      span('short', 'a', 15, 10),
      span('c', 'a', 50, 40),
      span('d', 'c', 60, 10),
    ]);
    const named = [...criticalPath(rows)].map(([at, parts]) => [rows[at]?.key, parts]);
    expect(Object.fromEntries(named)).toEqual({
      a: [
        [90, 100],
        [40, 50],
        [0, 10],
      ],
      b: [[10, 40]],
      c: [
        [70, 90],
        [50, 60],
      ],
      d: [[60, 70]],
    });
  });

  it('counts what outlasts its parent up to its end, and nothing of a trace without spans', () => {
    const rows = buildTree([span('a', '', 0, 100), span('b', 'a', 50, 500)]);
    expect([...criticalPath(rows)]).toEqual([
      [0, [[0, 50]]],
      [1, [[50, 100]]],
    ]);
    expect(criticalPath([]).size).toBe(0);
  });
});

describe('the window of rows', () => {
  it('has the rows in sight and ten beyond, inside the list', () => {
    expect(windowOf(0, 600, 10_000)).toEqual({ first: 0, last: 35 });
    expect(windowOf(240, 600, 10_000)).toEqual({ first: 0, last: 45 });
    expect(windowOf(120_000, 600, 10_000)).toEqual({ first: 4_990, last: 5_035 });
    expect(windowOf(240_000, 600, 10_000)).toEqual({ first: 9_990, last: 10_000 });
    expect(windowOf(240_000, 600, 3)).toEqual({ first: 0, last: 3 });
  });

  it('scrolls no further than a row needs', () => {
    expect(scrollTo(5, 0, 600)).toBe(0);
    expect(scrollTo(30, 0, 600)).toBe(144);
    expect(scrollTo(2, 480, 600)).toBe(48);
  });

  it('keeps a zoom in the address, inside the trace', () => {
    expect(zoomOf('10-20', 100)).toEqual({ from: 10, to: 20 });
    for (const text of ['', '20-10', '200-300', 'x', '-5-7'])
      expect(zoomOf(text, 100)).toEqual({ from: 0, to: 100 });
    expect(zoomText({ from: -5, to: 20.2 }, 100)).toBe('0-21');
    expect(zoomText({ from: -5, to: 200 }, 100)).toBe('');
  });
});

describe('the keys of the waterfall', () => {
  it('move and fold as in a tree', () => {
    const rows = buildTree([
      span('a', '', 0, 9),
      span('b', 'a', 1, 5),
      span('c', 'b', 2, 1, { status: 'Error' }),
      span('d', 'a', 6, 1),
    ]);
    const press = (key: string, active: number, fold = '') => {
      const isFolded = foldsOf(fold);
      return moveOf(key, { rows, shown: shownRows(rows, isFolded), active, isFolded, fold, pageRows: 2 });
    };
    expect(press('ArrowDown', 1, 'b')).toEqual({ active: 3 });
    expect(press('ArrowUp', 0)).toEqual({ active: 0 });
    expect(press('PageDown', 0)).toEqual({ active: 2 });
    expect(press('End', 0)).toEqual({ active: 3 });
    expect(press('ArrowLeft', 1)).toEqual({ fold: 'b' });
    expect(press('ArrowLeft', 2)).toEqual({ active: 1 });
    expect(press('ArrowRight', 1, 'b')).toEqual({ fold: '' });
    expect(press('ArrowRight', 1)).toEqual({ active: 2 });
    expect(press('e', 0)).toEqual({ active: 2 });
    expect(press('e', 3)).toEqual({ active: 2 });
    expect(press('x', 0)).toBeUndefined();
  });
});

describe('the search of traces', () => {
  const range = { since: 1_000, until: 2_000, key: '' };

  it('reads durations with units', () => {
    expect(['250', '250ms', '1.5 s', '2min', '10 µs'].map(parseDuration)).toEqual([
      250, 250, 1500, 120_000, 0.01,
    ]);
    for (const text of ['', 'fast', '-1', '1 h', '1e9', 'constructor', '1 constructor'])
      expect(parseDuration(text)).toBeUndefined();
  });

  it('keeps any attribute in the address, and reads nothing else', () => {
    const attribute = { scope: 'resource', key: '__proto__', value: '"],[\u0000' } as const;
    expect(parseAttribute(attributeText(attribute))).toEqual(attribute);
    for (const text of ['', '[]', '["span","a"]', '["other","a","b"]', '["span",1,"b"]', '{'])
      expect(parseAttribute(text)).toBeUndefined();
  });

  it('is offered for values that the API takes and that are whole', () => {
    const key = 'http.url';
    expect(['', 'a'.repeat(1024), '… (7 items)'].map((value) => isFindable({ key, value }))).toEqual([
      true,
      true,
      true,
    ]);
    // The second as a trace of many long values answers it.
    for (const value of ['a'.repeat(1025), 'aaa… (65536 bytes)'])
      expect(isFindable({ key, value })).toBe(false);
    expect(isFindable({ key: '', value: 'a' })).toBe(false);
    expect(isFindable({ key: 'a'.repeat(1025), value: 'a' })).toBe(false);
  });

  it('becomes a query, or says what is wrong', () => {
    const query = new URLSearchParams({
      app: '7',
      service: 'cart',
      status: 'error',
      min: '1 s',
      attr: '["span","a","b"]',
    });
    expect(searchOf(query, range)).toMatchObject({
      ...{ app_id: 7, service: 'cart', status: 'error', min_duration_ms: 1000, wide: false },
      ...{ since: 1_000, until: 2_000, attributes: [{ scope: 'span', key: 'a', value: 'b' }] },
    });
    expect(searchOf(new URLSearchParams(), range)).toMatchObject({
      service: undefined,
      span_name: undefined,
    });
    // The page Services leads here from the operations of spans that have no service.name or no name of their own.
    expect(searchOf(new URLSearchParams('service=&name='), range)).toMatchObject({
      service: '',
      span_name: '',
    });
    expect(searchOf(new URLSearchParams('max=soon'), range)).toContain('A duration is');
    expect(searchOf(new URLSearchParams('app=shop'), range)).toContain('An application is');
    expect(searchOf(new URLSearchParams('attr=x'), range)).toContain('An attribute');
    expect(searchOf(new URLSearchParams(), { ...range, until: 1_000_000 })).toMatchObject({ wide: true });
  });

  it('takes an id with hyphens, spaces and capitals', () => {
    expect(traceIdOf(' 5B8EFFF7-9803-8103-D269-B633813FC60C ')).toBe('5b8efff798038103d269b633813fc60c');
    expect(traceIdOf('5b8e')).toBeUndefined();
  });
});
