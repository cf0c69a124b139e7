import type { Publisher } from '../../bus/publisher.ts';
import { Fault } from '../../model/fault.ts';
import type { UidBase } from '../../model/uid.ts';
import type { IngressMetrics } from '../../telemetry/metrics.ts';
import type { TraceSpan } from '../../telemetry/tracing.ts';
import { envelopeVersion, frameParts, type Section, sectionsLength } from '../../wire/frame.ts';
import { spanCuttingRuleVersion } from '../../wire/otlp/trace-encoder.ts';
import type { TraceRun } from '../../wire/otlp/types.ts';
import {
  type DeferredSpans,
  encodeSpansEnvelope,
  type SpanPart,
  type SpansHeader,
} from '../../wire/spans-envelope.ts';
import type { RequestTraces } from '../request-traces.ts';

/** What one run of a request becomes a message with. */
export type SpanFragment = { readonly run: TraceRun; readonly base: UidBase; readonly arrivedAt: number };

/** What one message of one run says of its blocks and its deferred spans, and these. */
const spansMessage = ({
  run,
  base,
  arrivedAt,
}: SpanFragment): { header: SpansHeader; sections: Uint8Array[] } => {
  const deferredSections = run.deferred.map(({ texts }) => Buffer.from(`[${texts.join(',')}]`));
  const parts: SpanPart[] = run.parts.map(({ appId, bizId, day, rows, timeMin, timeMax, block }) => ({
    appId,
    bizId,
    day,
    rows,
    base: base.text,
    first: run.first,
    last: run.last,
    timeMin,
    timeMax,
    bytes: block.length,
  }));
  const deferred: DeferredSpans[] = run.deferred.map(({ appId, policy, ordinals }, index) => ({
    appId,
    arrivedAt,
    policy,
    base: base.text,
    ordinals,
    bytes: deferredSections[index]?.length ?? 0,
  }));
  const header: SpansHeader = {
    version: envelopeVersion,
    kind: 'spans',
    arrivedAt,
    key: { base: base.text, first: run.first },
    parts,
    deferred,
    outcomes: run.dropped.map(({ appId, reasons }) => ({ appId, dropped: Object.fromEntries(reasons) })),
  };
  return { header, sections: [...run.parts.map((part) => part.block), ...deferredSections] };
};

/** One message of one run. */
export const buildSpansMessage = (fragment: SpanFragment): Buffer => {
  const { header, sections } = spansMessage(fragment);
  return encodeSpansEnvelope(header, sections);
};

/** The parts of the same message, the blocks as they are. */
export const spansMessageParts = (fragment: SpanFragment): Section[] => {
  const { header, sections } = spansMessage(fragment);
  return frameParts(header, sections);
};

/** Publishes the runs of a request, each as a message of its own. */
export type SpanPublisher = {
  /**
   * Resolves after the PubAck of every run; true when every one of them was stored before (the request is a repeat). Rejects
   * with the publisher's Faults: `not_stored` only when nothing of the request was stored.
   */
  publish(fragments: readonly SpanFragment[], identity: string): Promise<boolean>;
};

export const createSpanPublisher = (
  publisher: Publisher,
  options: { readonly subject: string; readonly shards: number },
  metrics: IngressMetrics,
  traces?: RequestTraces,
): SpanPublisher => {
  const seconds = metrics.publishSeconds.labels('traces');
  const stored = metrics.publishes.labels('traces', 'stored');
  const send = async (fragment: SpanFragment, identity: string): Promise<boolean> => {
    const { run } = fragment;
    const shard = (run.parts[0]?.appId ?? run.deferred[0]?.appId ?? 0) % options.shards;
    const end = seconds.startTimer();
    let span: TraceSpan | undefined;
    let failure: string | undefined;
    try {
      const payload = spansMessageParts(fragment);
      span = traces?.publish('traces', [traces.current()], sectionsLength(payload));
      const { duplicate } = await publisher.publish(
        `${options.subject}.${shard}`,
        `${identity}:${run.first}-${run.last}:${spanCuttingRuleVersion}`,
        payload,
        envelopeVersion,
        span?.traceparent,
      );
      if (duplicate) metrics.publishes.inc({ pipeline: 'traces', outcome: 'duplicate' });
      else stored.inc();
      return duplicate;
    } catch (error) {
      failure = error instanceof Fault ? error.code : 'failed';
      metrics.publishes.inc({ pipeline: 'traces', outcome: failure });
      throw error;
    } finally {
      end();
      span?.end(failure);
    }
  };
  return {
    publish: async (fragments, identity) => {
      const results = await Promise.allSettled(fragments.map((fragment) => send(fragment, identity)));
      const failed = results.filter((result) => result.status === 'rejected');
      const fault: unknown = failed[0]?.reason;
      if (fault === undefined) {
        return results.every((result) => result.status === 'fulfilled' && result.value) && results.length > 0;
      }
      const isNothingStored =
        failed.length === results.length &&
        failed.every(({ reason }) => reason instanceof Fault && reason.code === 'not_stored');
      throw isNothingStored
        ? fault
        : new Fault('transient', 'unconfirmed', 'a part of the request was not confirmed', fault);
    },
  };
};
