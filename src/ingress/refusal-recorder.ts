import { clientAddress, type TrustedProxies } from '../http/client-address.ts';
import type { Incoming } from '../http/incoming.ts';
import { authorisationReasons } from '../model/authorisation.ts';
import type { Pipeline } from '../model/signals.ts';
import type { Refusals } from '../outcomes/refusals.ts';
import type { Sample, Samples } from '../outcomes/samples.ts';
import type { IngressMetrics } from '../telemetry/ingress-metrics.ts';
import { createFailingSenders } from './failing-senders.ts';
import type { RequestId } from './request-id.ts';
import { senderName } from './sender.ts';

/** The receivers by transport: push, OTLP over HTTP and over gRPC. */
export const receiverNames = ['push', 'otlp', 'grpc'] as const;

export type ReceiverName = (typeof receiverNames)[number];

/** The fields of a sample that differ within a request. */
export type Example = Pick<Sample, 'reason' | 'ordinal' | 'field' | 'value' | 'detail' | 'payload'> &
  Partial<Pick<Sample, 'stage' | 'secrets' | 'isOwnDetail'>>;

/** The request of a sample, and its id. */
export type Sampled = { readonly request: Incoming; readonly requestId: RequestId };

/**
 * Records requests and values outside the balance (architecture 10.1): in the metrics of the process and the rows of LEDGER, with
 * one call per occurrence. `owner` is a data id or an application that the request has shown a right to, else 0.
 */
export type RefusalRecorder = {
  /** A request answered with an error; `items` as far as they were counted. */
  refused(reason: string, owner?: number, items?: number): void;
  /** A connection that never became a request: counted, with a sample that names its address. */
  refusedConnection(reason: string, address: string, detail: string): void;
  /** Items lost with a refused request, or sent without a valid token, by reason. */
  refusedItems(items: ReadonlyMap<string, number>, owner: number, requests: 0 | 1): void;
  /** A duplicate of a stored request. */
  repeated(owner: number, items: number): void;
  /** Values dropped from stored items. */
  lost(reason: string, owner: number, values: number): void;
  /** Whether a sample is wanted now; after true, the caller has to call `sample`. */
  wants(owner: number, reason: string): boolean;
  /**
   * The same for a refused request; `named` is the owner that it names without a right to it, else 0. A sender that fails authorisation is
   * sampled every ten minutes beside the others.
   */
  wantsRefused(request: Incoming, owner: number, reason: string, named: number): boolean;
  /** A sample of this request; `sdk` comes from its resource, else it is empty. */
  sample(sender: Sampled, owner: number, sdk: string, example: Example): void;
};

export type RefusalRecorderDependencies = {
  readonly metrics: IngressMetrics;
  readonly refusals: Refusals;
  readonly samples: Samples;
  readonly trustedProxies: TrustedProxies;
};

export const createRefusalRecorder = (
  receiver: ReceiverName,
  pipeline: Pipeline,
  { metrics, refusals, samples, trustedProxies }: RefusalRecorderDependencies,
): RefusalRecorder => {
  const failing = createFailingSenders(performance.now.bind(performance));
  const refused = (reason: string, owner = 0, items = 0): void => {
    metrics.refused.inc({ receiver, reason });
    refusals.add(pipeline, 'refused', owner, reason, 1, items);
  };
  return {
    refused,
    refusedConnection: (reason, address, detail) => {
      refused(reason);
      if (!samples.wants(pipeline, 0, reason)) return;
      const unknown = { request: '', sdk: '', field: '', value: undefined, payload: undefined, ordinal: -1 };
      samples.add({ stage: 'receiver', ...unknown, pipeline, owner: 0, reason, sender: address, detail });
    },
    refusedItems: (items, owner, requests) => {
      let rest: number = requests;
      for (const [reason, count] of items) {
        refusals.add(pipeline, 'refused', owner, reason, rest, count);
        rest = 0;
      }
    },
    repeated: (owner, items) => {
      metrics.duplicates.inc({ pipeline });
      refusals.add(pipeline, 'duplicate', owner, 'duplicate_request', 1, items);
    },
    lost: (reason, owner, values) => {
      if (values === 0) return;
      metrics.valuesDropped.inc({ pipeline, reason }, values);
      refusals.add(pipeline, 'value_lost', owner, reason, 1, values);
    },
    wants: (owner, reason) => samples.wants(pipeline, owner, reason),
    wantsRefused: (request, owner, reason, named) => {
      // Asked before the sender counts as sampled: one whose sample would be lost is due again at its next failure.
      const isDue =
        authorisationReasons.has(reason) &&
        samples.hasRoom() &&
        failing.isDue(reason, clientAddress(request, trustedProxies), owner || named);
      // Asked in any case: a sample that is due is one of the few of its minute as long as these last.
      return samples.wants(pipeline, owner, reason) || isDue;
    },
    sample: ({ request, requestId }, owner, sdk, example) =>
      samples.add({
        stage: 'receiver',
        ...example,
        pipeline,
        owner,
        request: requestId,
        sender: clientAddress(request, trustedProxies),
        sdk: senderName(sdk, request.headers['user-agent']),
      }),
  };
};
