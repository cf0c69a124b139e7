import { parentPort } from 'node:worker_threads';
import { errorText } from '../../model/fault.ts';
import { shownExamples } from '../../rules/points/encoded-points.ts';
import type { ColumnMap } from '../../rules/points/point-table.ts';
import { hasMoreElements } from '../../wire/json-elements.ts';
import { TokenKeys } from '../../wire/otlp/token-keys.ts';
import {
  type ItemExample,
  MalformedBody,
  TooManyElements,
  TooManyItems,
  TooManyTokens,
} from '../../wire/otlp/types.ts';
import { otlpSignals } from '../otlp/signals.ts';
import { encodePush } from '../push/encode.ts';
import { judgeShares } from '../series/series-judge.ts';
import { shownPart } from './shown-part.ts';
import type {
  Answered,
  Asked,
  ColumnList,
  ItemsJob,
  Job,
  PushJob,
  PushResult,
  Result,
  Thrown,
} from './tasks.ts';

// The work of the thread beside the event loop: it decodes and encodes large bodies, one after the other.

/** Columns that remember which of their names were looked up. */
class SeenColumns implements ColumnMap {
  readonly seen = new Set<string>();
  private readonly columns: ReadonlyMap<string, string>;

  readonly full: ReadonlySet<string>;

  constructor(list: ColumnList, full: ReadonlySet<string> = new Set()) {
    this.columns = new Map(list);
    this.full = full;
  }

  get size(): number {
    return this.columns.size;
  }

  get(name: string): string | undefined {
    const column = this.columns.get(name);
    if (column !== undefined) this.seen.add(name);
    return column;
  }

  keys(): Iterable<string> {
    return this.columns.keys();
  }

  entries(): Iterable<[string, string]> {
    return this.columns.entries();
  }
}

const runPush = (bytes: Buffer, job: PushJob): PushResult => {
  const metrics = new SeenColumns(job.metrics);
  const dimensions = new SeenColumns(job.dimensions, job.fullDimensions);
  const push = encodePush(bytes, {
    ...job.task,
    table: { ...job.table, metrics, dimensions },
    asBytes: true,
  });
  const seen = { metrics: [...metrics.seen], dimensions: [...dimensions.seen] };
  if (push.kind === 'refused') return { kind: 'push', push, shown: new Map(), ...seen };
  const { pointAt, ...rest } = push;
  const shown = new Map<number, unknown>();
  for (const { index } of shownExamples(push.encoded))
    if (!shown.has(index)) shown.set(index, shownPart(pointAt(index)));
  return { kind: 'push', push: rest, shown, ...seen };
};

/** A few samples of each application and reason; the receiver decides which of them it wants. */
const samplesMax = 5;

const createWantsSample = (): ((appId: number, reason: ItemExample['reason']) => boolean) => {
  const taken = new Map<string, number>();
  return (appId, reason) => {
    const key = `${appId} ${reason}`;
    const count = (taken.get(key) ?? 0) + 1;
    taken.set(key, count);
    return count <= samplesMax;
  };
};

const runItems = (bytes: Buffer, job: ItemsJob): Result => {
  const { pipeline, encoding, owners, elementsMax, context, series } = job;
  if (encoding === 'json' && hasMoreElements(bytes, elementsMax))
    throw new TooManyElements(
      `the body has more than ${elementsMax} objects, arrays, members and elements: send smaller requests`,
    );
  const judge = series.length === 0 ? undefined : judgeShares(series);
  const encoded = otlpSignals[pipeline].readers[encoding].encode(bytes, {
    ...context,
    resolve: (token) => owners.get(token) ?? 'invalid',
    tokenKeys: new TokenKeys(job.tokenKeys),
    wantsSample: createWantsSample(),
    ...(judge === undefined ? {} : { admitsSeries: judge.admits }),
  });
  return { kind: 'items', encoded, seen: judge?.seen() ?? [] };
};

const run = (bytes: Buffer, job: Job): Result => {
  if (job.kind === 'push') return runPush(bytes, job);
  if (job.kind === 'items') return runItems(bytes, job);
  const { readers } = otlpSignals[job.pipeline];
  const tokens = readers[job.encoding].collectTokens(bytes, new TokenKeys(job.tokenKeys));
  return { kind: 'tokens', tokens };
};

/** The error that a sender's bytes can cause in a reader; undefined for a defect. */
const thrownBy = (error: unknown): Thrown | undefined => {
  if (error instanceof MalformedBody)
    return { what: 'malformed', message: error.message, field: error.field };
  if (error instanceof TooManyItems)
    return { what: 'too_many_items', message: error.message, items: error.items };
  if (error instanceof TooManyTokens) return { what: 'too_many_tokens', message: error.message };
  return error instanceof TooManyElements ? { what: 'too_many_elements', message: error.message } : undefined;
};

const resultOf = (bytes: Buffer, job: Job): { result: Result } | { defect: string } => {
  try {
    return { result: run(bytes, job) };
  } catch (error) {
    const thrown = thrownBy(error);
    return thrown === undefined ? { defect: errorText(error) } : { result: { kind: 'thrown', thrown } };
  }
};

const encodedIn = (result: Result): Uint8Array[] => {
  if (result.kind === 'items')
    return result.encoded.runs.flatMap(({ parts }) => parts.map(({ block }) => block));
  if (result.kind !== 'push' || result.push.kind === 'refused') return [];
  return result.push.encoded.runs.flatMap(({ bytes }) => bytes ?? []);
};

/** The buffers of a result that hold nothing else. */
const buffersIn = (result: Result): ArrayBuffer[] => {
  const buffers = new Set<ArrayBuffer>();
  if (result.kind === 'items') for (const { hashes } of result.seen) buffers.add(hashes.buffer);
  for (const { buffer, byteLength } of encodedIn(result))
    if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffers.add(buffer);
  return [...buffers];
};

parentPort?.on('message', ({ bytes, job }: Asked) => {
  const outcome = resultOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), job);
  const answer: Answered = { bytes, ...outcome };
  const buffers = 'result' in outcome ? buffersIn(outcome.result) : [];
  parentPort?.postMessage(answer, [bytes.buffer, ...buffers]);
});
