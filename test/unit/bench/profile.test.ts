import { expect, it } from 'vitest';
import { byFunction, byRoom, callTreeOf } from '../../../bench/profile/call-tree.ts';
import { flameGraph } from '../../../bench/profile/flame-graph.ts';

const frame = (functionName: string, url = '', lineNumber = -1) => ({ functionName, url, lineNumber });

/** A profile of six samples of a millisecond each, two of them idle. */
const profile = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 3, 6] },
    { id: 2, callFrame: frame('(idle)') },
    { id: 3, callFrame: frame('read', 'file:///app/src/wire/read.ts', 9), children: [4, 5] },
    { id: 4, callFrame: frame('', 'file:///app/src/wire/value.ts', 0) },
    { id: 5, callFrame: frame('parse', 'file:///app/node_modules/@a/b/c.js', 3) },
    { id: 6, callFrame: frame('emit', 'node:events', 100) },
  ],
  samples: [2, 3, 4, 5, 6, 2],
  timeDeltas: [1_000, 1_000, 1_000, 1_000, 1_000, 1_000],
};

it('time that is idle counts for nothing, and a call has the time of those that it makes', () => {
  const top = callTreeOf(profile, '/app');
  expect(top.totalMs).toBe(4);
  expect(top.children.find(({ name }) => name === 'read')).toMatchObject({ selfMs: 1, totalMs: 3 });
});

it('own time is summed by function and by room', () => {
  const top = callTreeOf(profile, '/app');
  expect(byFunction(top).map(({ name }) => name)).toEqual([
    'read  src/wire/read.ts:10',
    '(anonymous)  src/wire/value.ts:1',
    'parse  node_modules/@a/b/c.js:4',
    'emit  node:events',
  ]);
  expect(byRoom(top)).toEqual([
    { name: 'src/wire', selfMs: 2 },
    { name: '@a/b', selfMs: 1 },
    { name: 'node', selfMs: 1 },
  ]);
});

it('a flame graph has a box for each call that can be seen, with its place and share', () => {
  const svg = flameGraph(callTreeOf(profile, '/app'), 'a < b');
  expect(svg).toContain('a &lt; b');
  expect(svg).toContain('<title>read src/wire/read.ts:10: 75.0 %, 3 ms, own 1 ms</title>');
  expect(svg.match(/<rect /g)).toHaveLength(1 + 5);
});
