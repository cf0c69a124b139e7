import type { CpuProfile } from './inspector.ts';

/** A function in the call tree, with the time of its samples. Times are milliseconds. */
export type Call = {
  readonly name: string;
  /** `src/wire/otlp/json-cursor.ts:41`; `node:` modules as they are; empty for V8's own. */
  readonly place: string;
  /** Without the functions that it calls. */
  selfMs: number;
  /** With them. */
  totalMs: number;
  readonly children: Call[];
};

/** Samples in which the thread has nothing to do. */
const idleName = '(idle)';

/** The path of a file inside this folder; another one as it is. */
const placeOf = (url: string, line: number, root: string): string => {
  if (url === '') return '';
  const path = url.replace(/^file:\/\//, '');
  const inside = path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
  return inside.startsWith('node:') ? inside : `${inside}:${line + 1}`;
};

/** The call tree of a profile, without idle time. `root` is the program's folder. */
export const callTreeOf = ({ nodes, samples, timeDeltas }: CpuProfile, root: string): Call => {
  const selfMs = new Map<number, number>();
  for (const [index, id] of samples.entries())
    selfMs.set(id, (selfMs.get(id) ?? 0) + (timeDeltas[index] ?? 0) / 1000);
  const calls = new Map<number, Call>();
  for (const { id, callFrame } of nodes)
    calls.set(id, {
      name: callFrame.functionName === '' ? '(anonymous)' : callFrame.functionName,
      place: placeOf(callFrame.url, callFrame.lineNumber, root),
      selfMs: callFrame.functionName === idleName ? 0 : (selfMs.get(id) ?? 0),
      totalMs: 0,
      children: [],
    });
  for (const { id, children = [] } of nodes)
    for (const child of children) {
      const call = calls.get(child);
      if (call !== undefined) calls.get(id)?.children.push(call);
    }
  // V8 lists a node before its children.
  for (const { id } of nodes.toReversed()) {
    const call = calls.get(id);
    if (call !== undefined)
      call.totalMs = call.children.reduce((sum, each) => sum + each.totalMs, call.selfMs);
  }
  const top = nodes[0] && calls.get(nodes[0].id);
  if (top === undefined) throw new Error('the profile has no calls');
  return top;
};

/** A function, or a room of the program, with its own time. */
export type Spent = { readonly name: string; readonly selfMs: number };

const spentBy = (top: Call, keyOf: (call: Call) => string): Spent[] => {
  const spent = new Map<string, number>();
  const add = (call: Call): void => {
    if (call.selfMs > 0) spent.set(keyOf(call), (spent.get(keyOf(call)) ?? 0) + call.selfMs);
    for (const child of call.children) add(child);
  };
  add(top);
  return [...spent].map(([name, selfMs]) => ({ name, selfMs })).toSorted((a, b) => b.selfMs - a.selfMs);
};

/** Own time by function, most first. */
export const byFunction = (top: Call): Spent[] =>
  spentBy(top, ({ name, place }) => (place === '' ? name : `${name}  ${place}`));

const roomOf = ({ name, place }: Call): string => {
  if (place === '') return name;
  if (place.startsWith('node:')) return 'node';
  const package_ = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(place)?.[1];
  if (package_ !== undefined) return package_;
  return place.split('/').slice(0, -1).join('/');
};

/** Own time by folder of the program, package, Node.js, and what V8 does by itself. */
export const byRoom = (top: Call): Spent[] => spentBy(top, roomOf);
