import { buildItemsMessage, type ItemsFragment, itemsMessageParts } from '../src/ingress/otlp/message.ts';
import { countedBase } from '../src/model/uid.ts';
import { jsonMetrics } from '../src/rules/data-points/json-metrics.ts';
import { protobufMetrics } from '../src/rules/data-points/protobuf-metrics.ts';
import { jsonLogs } from '../src/rules/logs/json-logs.ts';
import { protobufLogs } from '../src/rules/logs/protobuf-logs.ts';
import { jsonTraces } from '../src/rules/spans/json-traces.ts';
import { protobufTraces } from '../src/rules/spans/protobuf-traces.ts';
import { spansTable } from '../src/stores/clickhouse/item-tables.ts';
import { decodeBlocksEnvelope } from '../src/wire/blocks-envelope.ts';
import { readBlockKeys } from '../src/wire/native/block-keys.ts';
import { mergeBlocks } from '../src/wire/native/block-merger.ts';
import {
  defaultItemLimits,
  type EncodedItems,
  type ItemsContext,
  type ItemsOwner,
} from '../src/wire/otlp/types.ts';
import { defaultTimePolicy } from '../test/support/time-policy.ts';
import { metricBodies as bodiesOfShape } from './data-point-bodies.ts';
import { walkedTraces } from './json-walk.ts';
import { logBodies, nestedLogBodies } from './log-bodies.ts';
import { metricBodies } from './metric-bodies.ts';
import { printRows, type Row } from './report.ts';
import { sdkBodies, spanBodies } from './span-bodies.ts';

const spansPerBody = 100;
const bodiesCount = 64;
const roundsMin = 12;
const secondsPerStage = 3;

const owner: ItemsOwner = { appId: 12, bizId: 2, fillDimensions: true, policy: defaultTimePolicy };

const contextAt = (arrivedAt: number): ItemsContext => ({
  resolve: () => owner,
  clientIp: '192.0.2.9',
  base: countedBase(1, 0),
  arrivedAt,
  limits: defaultItemLimits,
});

/**
 * Runs `work` over the inputs round by round and returns the median round: on a shared machine the mean depends more on other
 * processes. CPU time is this process's own.
 */
const measure = <T>(
  stage: string,
  inputs: readonly T[],
  work: (input: T, place: number) => void,
  details: object = {},
): Row => {
  const rounds: { seconds: number; cpu: number }[] = [];
  const begin = performance.now();
  while (rounds.length < roundsMin || performance.now() - begin < secondsPerStage * 1000) {
    const cpuStart = process.cpuUsage();
    const start = performance.now();
    for (const [place, input] of inputs.entries()) work(input, place);
    const cpu = process.cpuUsage(cpuStart);
    rounds.push({ seconds: (performance.now() - start) / 1000, cpu: (cpu.user + cpu.system) / 1e6 });
  }
  // The first rounds run before the code is compiled.
  const warm = rounds.slice(Math.floor(rounds.length / 4));
  const median = (values: number[]): number =>
    values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  const spans = inputs.length * spansPerBody;
  return {
    stage,
    items_per_second: Math.round(spans / median(warm.map(({ seconds }) => seconds))),
    cpu_seconds_per_million: Number(((median(warm.map(({ cpu }) => cpu)) / spans) * 1e6).toFixed(3)),
    ...details,
  };
};

const blocksOf = (fragments: readonly ItemsFragment[]): Uint8Array[] =>
  fragments.flatMap(({ run }) => run.parts.map(({ block }) => block));

/** The inputs of the stages with an engine: messages in ingress's form, blocks in transfer's form. */
export const spanStageInputs = () => {
  const nowMs = Date.now();
  const context = contextAt(nowMs);
  const fragments = spanBodies('protobuf', bodiesCount, spansPerBody, nowMs).flatMap((body) =>
    protobufTraces
      .encode(body, context)
      .runs.map((run) => ({ pipeline: 'traces' as const, run, base: countedBase(1, 0), arrivedAt: nowMs })),
  );
  return {
    spanMessages: fragments.map((fragment) => buildItemsMessage(fragment)),
    spanBlocks: blocksOf(fragments),
    spansPerBody,
  };
};

/** Both read one body into the same block, else the figures would not be about the same work. */
const assertAlike = (body: Buffer, context: ItemsContext): void => {
  const blocksAs = ({ runs }: EncodedItems): Buffer =>
    Buffer.concat(runs.flatMap(({ parts }) => parts.map(({ block }) => Buffer.from(block))));
  const [read, walked] = [jsonTraces.encode(body, context), walkedTraces(body, context)];
  if (read.accepted !== spansPerBody || !blocksAs(read).equals(blocksAs(walked)))
    throw new Error('the reader of JSON and the walk differ');
};

/** The reader of JSON and `JSON.parse` with a walk, in turn on the same bodies, the same encoder behind both. */
const measureWalk = (bodies: readonly Buffer[], context: ItemsContext, shape: string): Row[] => {
  for (const body of bodies) assertAlike(body, context);
  const details = {
    body_bytes: Math.round(
      bodies.reduce((total, { length }) => total + length, 0) / bodies.length / spansPerBody,
    ),
  };
  return [
    measure(`JSON reader${shape}`, bodies, (body) => jsonTraces.encode(body, context), details),
    measure(`JSON.parse + walk${shape}`, bodies, (body) => walkedTraces(body, context), details),
  ];
};

/** The trace receiver's work on a body, one core, without engines: 100 spans of 10 attributes, 6 of the resource, all different. */
export const measureSpanStages = (): Row[] => {
  const nowMs = Date.now();
  const context = contextAt(nowMs);
  const json = spanBodies('json', bodiesCount, spansPerBody, nowMs);
  const protobuf = spanBodies('protobuf', bodiesCount, spansPerBody, nowMs);
  const fragments = protobuf.flatMap((body) =>
    protobufTraces
      .encode(body, context)
      .runs.map((run) => ({ pipeline: 'traces' as const, run, base: countedBase(1, 0), arrivedAt: nowMs })),
  );
  const blocks = blocksOf(fragments);
  const messages = fragments.map((fragment) => buildItemsMessage(fragment));
  const bytesEach = (bodies: readonly Uint8Array[]): number =>
    Math.round(bodies.reduce((total, { length }) => total + length, 0) / bodies.length / spansPerBody);
  const rowBytes = bytesEach(blocks);
  return [
    measure('protobuf: parse, rules and encode', protobuf, (body) => protobufTraces.encode(body, context), {
      body_bytes: bytesEach(protobuf),
      block_bytes: rowBytes,
    }),
    measure('JSON: parse, rules and encode', json, (body) => jsonTraces.encode(body, context), {
      body_bytes: bytesEach(json),
      block_bytes: rowBytes,
    }),
    measure('for comparison: JSON.parse alone', json, (body) => JSON.parse(body.toString('utf8'))),
    ...measureWalk(json, context, ''),
    ...measureWalk(sdkBodies(bodiesCount, spansPerBody, nowMs), context, ', as the JavaScript SDK writes it'),
    measure('envelope', fragments, (fragment) => buildItemsMessage(fragment)),
    measure('validate (read in transfer)', messages, (payload) => decodeBlocksEnvelope(payload, 1)),
    measure('keys of a block for the guard', blocks, (block) => readBlockKeys(block, spansTable.keys)),
  ];
};

/** The same of data points, five attributes each; with the hash of each series, as under a bound of series. */
export const measureDataPointStages = (): Row[] => {
  const nowMs = Date.now();
  const context = contextAt(nowMs);
  const bounded: ItemsContext = { ...context, admitsSeries: () => true };
  const shapes = ['sums', 'histograms', 'exponential histograms'] as const;
  return shapes.flatMap((shape) => {
    const json = bodiesOfShape('json', shape, bodiesCount, spansPerBody, nowMs);
    const protobuf = bodiesOfShape('protobuf', shape, bodiesCount, spansPerBody, nowMs);
    const size = (bodies: readonly Buffer[]): number =>
      Math.round(bodies.reduce((total, { length }) => total + length, 0) / bodies.length / spansPerBody);
    const details = { body_bytes: size(protobuf) };
    return [
      measure(`${shape}, protobuf`, protobuf, (body) => protobufMetrics.encode(body, context), details),
      measure(`${shape}, protobuf, series hashed`, protobuf, (body) => protobufMetrics.encode(body, bounded)),
      measure(`${shape}, JSON`, json, (body) => jsonMetrics.encode(body, context), {
        body_bytes: size(json),
      }),
    ];
  });
};

/** The bounds of transfer, and about the messages of one of its writes. */
const mergeBounds = { rowsMax: 8_192, bytesMax: 4 * 2 ** 20 };

/** From the body to the block of a message, and from the messages of a write to the bodies of its inserts, of every signal. */
export const measureSignalStages = (): Row[] => {
  const nowMs = Date.now();
  const context: ItemsContext = { ...contextAt(nowMs), admitsSeries: () => true };
  const signals = [
    { name: 'spans', pipeline: 'traces', bodies: spanBodies, protobuf: protobufTraces, json: jsonTraces },
    { name: 'log records', pipeline: 'logs', bodies: logBodies, protobuf: protobufLogs, json: jsonLogs },
    {
      name: 'nested log records',
      pipeline: 'logs',
      bodies: nestedLogBodies,
      protobuf: protobufLogs,
      json: jsonLogs,
    },
    {
      name: 'data points',
      pipeline: 'otel_metrics',
      bodies: metricBodies,
      protobuf: protobufMetrics,
      json: jsonMetrics,
    },
  ] as const;
  return signals.flatMap(({ name, pipeline, bodies: bodiesOf, protobuf, json }) => {
    const bodies = bodiesOf('protobuf', bodiesCount, spansPerBody, nowMs);
    const base = countedBase(1, 0);
    const fragments = bodies.flatMap((body) =>
      protobuf.encode(body, context).runs.map((run) => ({ pipeline, run, base, arrivedAt: nowMs })),
    );
    const messages = fragments.map((fragment) => buildItemsMessage(fragment));
    const tables = Map.groupBy(
      fragments.flatMap(({ run }) => run.parts),
      ({ itemTable }) => itemTable,
    );
    const writes = [...tables.values()].map((parts) => parts.map(({ block }) => block));
    const bytes = messages.reduce((total, { length }) => total + length, 0);
    return [
      measure(`${name}, protobuf to blocks`, bodies, (body) => protobuf.encode(body, context), {
        bytes: Math.round(bytes / bodies.length / spansPerBody),
      }),
      measure(`${name}, JSON to blocks`, bodiesOf('json', bodiesCount, spansPerBody, nowMs), (body) =>
        json.encode(body, context),
      ),
      measure(`${name}, parts of a message`, fragments, (fragment) => itemsMessageParts(fragment)),
      measure(`${name}, messages read`, messages, (payload) => decodeBlocksEnvelope(payload, 1)),
      // All bodies in one write.
      measure(`${name}, blocks merged`, Array.from({ length: bodiesCount }), (_, place) => {
        if (place === 0) for (const blocks of writes) mergeBlocks(blocks, mergeBounds);
      }),
    ];
  });
};

if (import.meta.main) {
  printRows('From bodies to blocks to inserts, one core, 100 items a body', 'items', measureSignalStages());
  printRows('Stages of an export, one core, 100 spans × 10 attributes a body', 'spans', measureSpanStages());
  printRows('Stages of an export of data points, one core', 'data points', measureDataPointStages());
}
