import type { Payload, Publisher } from '../../bus/publisher.ts';
import { ofInstance } from '../../config/instance-streams.ts';
import type { Source } from '../../directory/directory.ts';
import { Fault } from '../../model/fault.ts';
import { defaultInstance } from '../../model/instances.ts';
import type { TimePolicy } from '../../model/time.ts';
import type { UidBase } from '../../model/uid.ts';
import type { IngressMetrics } from '../../telemetry/metrics.ts';
import type { TraceSpan } from '../../telemetry/tracing.ts';
import {
  type DeferredGroup,
  encodeEnvelope,
  type MetricsHeader,
  type Part,
  type ReceiverOutcomes,
} from '../../wire/envelope.ts';
import { envelopeVersion, frameParts, type Section, sectionsLength } from '../../wire/frame.ts';
import { cuttingRuleVersion, runBudget } from '../../wire/points/cutting.ts';
import type { Run } from '../../wire/points/encoded-points.ts';
import type { RequestTraces } from '../request-traces.ts';

/** A run of one request, on its way into a message. */
export type Fragment = {
  readonly source: Source;
  readonly base: UidBase;
  readonly run: Run;
  readonly arrivedAt: number;
  readonly policy: TimePolicy;
};

/** Brings runs to the bus. Both calls resolve after the PubAck and reject with the publisher's Faults. */
export type PushPublisher = {
  /** Runs without an identity share a message with whatever arrives while a publish is in flight. */
  share(fragment: Fragment): Promise<void>;
  /** A run of a request with identity is a message of its own; answers true for a repeat. */
  publishAlone(fragment: Fragment, sha256Hex: string): Promise<boolean>;
};

const partOf = (fragments: readonly Fragment[], rowsBytes: number): Part | undefined => {
  const first = fragments[0];
  if (first === undefined) return undefined;
  let rows = 0;
  let points = 0;
  let timeMin = Number.MAX_SAFE_INTEGER;
  let timeMax = 0;
  for (const { run } of fragments) {
    rows += run.rows;
    points += run.points;
    timeMin = Math.min(timeMin, run.timeMin);
    timeMax = Math.max(timeMax, run.timeMax);
  }
  return {
    dataId: first.source.dataId,
    table: first.source.tableId,
    layout: first.source.layout,
    rows,
    points,
    base: first.base.text,
    first: first.run.first,
    last: first.run.last,
    timeMin,
    timeMax,
    bytes: rowsBytes,
  };
};

/** What one message of fragments says and holds: a part per data id, the deferred points of each request beside it. */
const messageOfFragments = (
  fragments: readonly Fragment[],
): { header: MetricsHeader; sections: Section[] } => {
  const byDataId = new Map<number, Fragment[]>();
  for (const fragment of fragments) {
    const group = byDataId.get(fragment.source.dataId);
    if (group === undefined) byDataId.set(fragment.source.dataId, [fragment]);
    else group.push(fragment);
  }
  const parts: Part[] = [];
  const deferred: DeferredGroup[] = [];
  const outcomes: ReceiverOutcomes[] = [];
  const partSections: string[] = [];
  const deferredSections: string[] = [];
  for (const [dataId, group] of byDataId) {
    let text = '';
    const dropped: Record<string, number> = {};
    for (const { run, base, arrivedAt, policy } of group) {
      text += run.text;
      for (const [reason, count] of run.dropped) dropped[reason] = (dropped[reason] ?? 0) + count;
      if (run.deferred.length === 0) continue;
      const section = `[${run.deferred.join(',')}]`;
      deferredSections.push(section);
      deferred.push({
        dataId,
        arrivedAt,
        policy,
        base: base.text,
        ordinals: run.deferredOrdinals,
        bytes: Buffer.byteLength(section),
      });
    }
    if (Object.keys(dropped).length > 0) outcomes.push({ dataId, dropped });
    if (text === '') continue;
    const part = partOf(
      group.filter((fragment) => fragment.run.rows > 0),
      Buffer.byteLength(text),
    );
    if (part === undefined) continue;
    parts.push(part);
    partSections.push(text);
  }
  const [first] = fragments;
  const header: MetricsHeader = {
    version: envelopeVersion,
    kind: 'metrics',
    arrivedAt: first?.arrivedAt ?? 0,
    ...(first === undefined ? {} : { key: { base: first.base.text, first: first.run.first } }),
    parts,
    deferred,
    outcomes,
  };
  return { header, sections: [...partSections, ...deferredSections] };
};

/** Builds one message of fragments. */
export const buildMessage = (fragments: readonly Fragment[]): Buffer => {
  const { header, sections } = messageOfFragments(fragments);
  return encodeEnvelope(header, sections);
};

/** The parts of the same message. */
const messageParts = (fragments: readonly Fragment[]): Section[] => {
  const { header, sections } = messageOfFragments(fragments);
  return frameParts(header, sections);
};

/** Characters a fragment brings to a message: rows, and deferred points as they were sent. */
const sizeOf = ({ run }: Fragment): number => {
  let size = run.text.length;
  for (const text of run.deferred) size += text.length;
  return size;
};

type Waiting = {
  readonly fragment: Fragment;
  /** The span of its request, where that is traced. */
  readonly trace: TraceSpan | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

type Gathering = {
  readonly subject: string;
  waiting: Waiting[];
  size: number;
  inFlight: number;
  isScheduled: boolean;
};

/** So many bytes are sent beside a publish that is in flight, instead of waiting for it. */
const fullEnough = 256 * 1024;
const inFlightMax = 4;

export type PushPublisherOptions = { readonly subject: string; readonly shards: number };

export const createPushPublisher = (
  publisher: Publisher,
  options: PushPublisherOptions,
  metrics: IngressMetrics,
  traces?: RequestTraces,
): PushPublisher => {
  const gatheringsAt = (instance: string): Gathering[] =>
    Array.from(
      { length: options.shards },
      (_, shard): Gathering => ({
        subject: `${ofInstance(options.subject, instance)}.${shard}`,
        waiting: [],
        size: 0,
        inFlight: 0,
        isScheduled: false,
      }),
    );
  const first = gatheringsAt(defaultInstance);
  /** Those of other QuestDB instances: their points travel in streams of their own, and share no message with others. */
  const further = new Map<string, Gathering[]>();
  const seconds = metrics.publishSeconds.labels('metrics');
  const stored = metrics.publishes.labels('metrics', 'stored');

  const send = async (
    subject: string,
    messageId: string,
    payload: Payload,
    span: TraceSpan | undefined,
  ): Promise<boolean> => {
    const end = seconds.startTimer();
    let failure: string | undefined;
    try {
      const { duplicate } = await publisher.publish(
        subject,
        messageId,
        payload,
        envelopeVersion,
        span?.traceparent,
      );
      if (duplicate) metrics.publishes.inc({ pipeline: 'metrics', outcome: 'duplicate' });
      else stored.inc();
      return duplicate;
    } catch (error) {
      failure = error instanceof Fault ? error.code : 'failed';
      metrics.publishes.inc({ pipeline: 'metrics', outcome: failure });
      throw error;
    } finally {
      end();
      span?.end(failure);
    }
  };

  /** Takes waiting fragments up to what one message may hold. */
  const takeBatch = (gathering: Gathering): Waiting[] => {
    let size = 0;
    let count = 0;
    for (const { fragment } of gathering.waiting) {
      size += sizeOf(fragment);
      if (size > runBudget && count > 0) break;
      count++;
    }
    const batch = gathering.waiting.splice(0, count);
    for (const { fragment } of batch) gathering.size -= sizeOf(fragment);
    return batch;
  };

  const flush = (gathering: Gathering): void => {
    gathering.isScheduled = false;
    while (
      gathering.waiting.length > 0 &&
      (gathering.inFlight === 0 || (gathering.size >= fullEnough && gathering.inFlight < inFlightMax))
    ) {
      const batch = takeBatch(gathering);
      const leading = batch[0]?.fragment;
      if (leading === undefined) return;
      gathering.inFlight++;
      const payload = messageParts(batch.map((each) => each.fragment));
      const span = traces?.publish(
        'metrics',
        batch.map(({ trace }) => trace),
        sectionsLength(payload),
      );
      send(gathering.subject, `${leading.base.text}:${leading.run.first}`, payload, span)
        .then(
          () => {
            for (const { resolve } of batch) resolve();
          },
          (error: unknown) => {
            for (const { reject } of batch) reject(error);
          },
        )
        .finally(() => {
          gathering.inFlight--;
          flush(gathering);
        });
    }
  };

  const gatheringOf = ({ source }: Fragment): Gathering => {
    const { dataId, questdb } = source;
    let gatherings = questdb === defaultInstance ? first : further.get(questdb);
    if (gatherings === undefined) {
      gatherings = gatheringsAt(questdb);
      further.set(questdb, gatherings);
    }
    const shard = dataId % options.shards;
    const gathering = gatherings[shard];
    if (gathering === undefined) throw new Fault('internal', 'no_shard', `there is no shard ${shard}`);
    return gathering;
  };

  return {
    share: (fragment) =>
      new Promise((resolve, reject) => {
        const gathering = gatheringOf(fragment);
        gathering.waiting.push({ fragment, trace: traces?.current(), resolve, reject });
        gathering.size += sizeOf(fragment);
        if (gathering.isScheduled) return;
        gathering.isScheduled = true;
        // After the other requests that this turn of the event loop has read.
        setImmediate(flush, gathering);
      }),
    publishAlone: (fragment, sha256Hex) => {
      const payload = messageParts([fragment]);
      return send(
        gatheringOf(fragment).subject,
        `${sha256Hex}:${fragment.run.first}-${fragment.run.last}:${cuttingRuleVersion}`,
        payload,
        traces?.publish('metrics', [traces.current()], sectionsLength(payload)),
      );
    },
  };
};
