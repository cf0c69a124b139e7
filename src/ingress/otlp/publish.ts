import type { UidBase } from '../../model/uid.ts';
import { itemCuttingRuleVersion } from '../../rules/items/cutting.ts';
import type { IngressMetrics } from '../../telemetry/ingress-metrics.ts';
import type { EncodedItems, ItemsRun } from '../../wire/otlp/types.ts';
import { createRequestPublisher, type Outgoing, type Publishers } from '../request-publisher.ts';
import type { RequestTraces } from '../request-traces.ts';
import { type ItemsFragment, itemsMessageParts } from './message.ts';
import type { OtlpSignal } from './signals.ts';

export { buildItemsMessage, type ItemsFragment } from './message.ts';

/** A request on its way to the bus. */
export type ItemsRequest = {
  readonly encoded: Pick<EncodedItems, 'runs' | 'owners'>;
  /** The base of the uids of its items. */
  readonly base: UidBase;
  /** Its name, by which a retry is recognised; without it every try is a request of its own. */
  readonly sha256Hex: string | undefined;
  /** The base of the keys of its outcome records, and of the ids of its messages where it has no name. */
  readonly keyBase: UidBase;
  readonly arrivedAt: number;
  /** The latest time of its answer, ms of `performance.now()`. */
  readonly deadlineAt: number;
};

/** Publishes requests to the bus. */
export type ItemsPublisher = {
  /**
   * Resolves after the PubAck of every message; true when every one of them was stored before (the request is a duplicate). With a
   * name, each try stores what is missing; without one, all of the request is stored or nothing. Rejects with the Faults of
   * `RequestPublisher`: `not_stored` and `message_too_large` only when nothing of the request was stored.
   */
  publish(request: ItemsRequest): Promise<boolean>;
};

/** A message of a request: its fragment, and the end of its id. */
type Piece = { readonly fragment: ItemsFragment; readonly suffix: string };

const isOf =
  (owner: number) =>
  ({ appId }: { readonly appId: number }): boolean =>
    appId === owner;

/** The share of one application in a run; undefined where it has none. */
const shareOf = (run: ItemsRun, appId: number): ItemsRun | undefined => {
  const share: ItemsRun = {
    ...run,
    parts: run.parts.filter(isOf(appId)),
    deferred: run.deferred.filter(isOf(appId)),
    dropped: run.dropped.filter(isOf(appId)),
  };
  return share.parts.length + share.deferred.length + share.dropped.length > 0 ? share : undefined;
};

/** Places of the credentials of each application among those of the request. */
const placesOf = (owners: EncodedItems['owners']): Map<number, number[]> => {
  const places = new Map<number, number[]>();
  for (const [place, owner] of owners.entries())
    if (typeof owner !== 'string') places.set(owner.appId, [...(places.get(owner.appId) ?? []), place]);
  return places;
};

/**
 * A request of one credential: one message per run. With several credentials, one of them may be invalid at one try and valid at
 * the next. So the items of each application travel in messages of their own, named by the places of its credentials: a changed
 * result adds or removes a message, and the others are recognised.
 */
const piecesOf = (
  pipeline: OtlpSignal['pipeline'],
  { encoded, base, keyBase, arrivedAt, sha256Hex }: ItemsRequest,
): Piece[] => {
  const { runs, owners } = encoded;
  if (owners.length <= 1 || sha256Hex === undefined)
    return runs.map((run) => ({ fragment: { pipeline, run, base, keyBase, arrivedAt }, suffix: '' }));
  return runs.flatMap((run) =>
    [...placesOf(owners)].flatMap(([appId, places]) => {
      const share = shareOf(run, appId);
      if (share === undefined) return [];
      const mayOverlap = places.length > 1;
      return [
        {
          fragment: { pipeline, run: share, base, keyBase, arrivedAt, mayOverlap },
          suffix: `:${places.join('-')}`,
        },
      ];
    }),
  );
};

export const createItemsPublisher = (
  { pipeline }: Pick<OtlpSignal, 'pipeline'>,
  publishers: Publishers,
  options: { readonly stream: string; readonly subject: string; readonly shards: number },
  metrics: IngressMetrics,
  traces?: RequestTraces,
): ItemsPublisher => {
  const publisher = createRequestPublisher({ pipeline, ...options }, publishers, metrics, traces);

  const messageOf = ({ fragment, suffix }: Piece, name: string): Outgoing => {
    const { run } = fragment;
    const shard = (run.parts[0]?.appId ?? run.deferred[0]?.appId ?? 0) % options.shards;
    return {
      subject: `${options.subject}.${shard}`,
      messageId: `${name}:${run.first}-${run.last}:${itemCuttingRuleVersion}${suffix}`,
      ...itemsMessageParts(fragment),
    };
  };

  return {
    publish: async (request) => {
      const { sha256Hex, keyBase, deadlineAt } = request;
      const name = sha256Hex ?? keyBase.text;
      const messages = piecesOf(pipeline, request).map((piece) => messageOf(piece, name));
      return publisher.publishAll(messages, sha256Hex !== undefined, deadlineAt);
    },
  };
};
