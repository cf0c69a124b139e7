import { ownSeriesSeed } from '../../rules/data-points/series-hash.ts';
import { TokenKeys } from '../../wire/otlp/token-keys.ts';
import type { BodyTokens, EncodedItems, ItemsContext, ItemsOwner } from '../../wire/otlp/types.ts';
import { type LargeBodies, type LargeBody, largeBytes } from '../large-bodies/large-bodies.ts';
import type { AddedSeries, SeriesGate, SeriesMax } from '../series/series-gate.ts';
import type { OtlpEncoding } from './reply.ts';
import { type OtlpPipeline, otlpSignals } from './signals.ts';

/** The inputs of encoding beside the body; a token that is not among `owners` is invalid. */
export type ReadContext = Omit<ItemsContext, 'resolve' | 'tokenKeys' | 'admitsSeries' | 'seriesSeed'> & {
  readonly owners: ReadonlyMap<string | undefined, ItemsOwner | 'disabled'>;
  /** The bound of each of its applications. */
  readonly seriesMax: SeriesMax;
};

/** `forgetSeries` frees the places of its new series: to be called when nothing of the request is stored. */
export type ReadRequest = { readonly encoded: EncodedItems; readonly forgetSeries: () => void };

/**
 * Reads requests: small bodies at once, large ones in a separate thread. Like ItemsReader; also rejects with a transient Fault, at
 * `deadlineAt` (ms of `performance.now()`) at the latest.
 */
export type ReadItems = {
  tokens(body: LargeBody, encoding: OtlpEncoding, deadlineAt: number): Promise<BodyTokens>;
  encode(
    body: LargeBody,
    encoding: OtlpEncoding,
    context: ReadContext,
    deadlineAt: number,
  ): Promise<ReadRequest>;
};

export const createReadItems = (
  pipeline: OtlpPipeline,
  large: LargeBodies,
  tokenAttributes: readonly string[],
  elementsMax: number,
  series: SeriesGate,
): ReadItems => {
  const { readers } = otlpSignals[pipeline];
  const tokenKeys = new TokenKeys(tokenAttributes);
  const isLarge = ({ bytes }: LargeBody): boolean => bytes.length > largeBytes;
  return {
    tokens: async (body, encoding, deadlineAt) =>
      isLarge(body)
        ? large.collectTokens(body, { pipeline, encoding, tokenKeys: tokenAttributes }, deadlineAt)
        : readers[encoding].collectTokens(body.bytes, tokenKeys),
    encode: async (body, encoding, { owners, wantsSample, seriesMax, ...context }, deadlineAt) => {
      const added: AddedSeries = [];
      const forgetSeries = (): void => series.forget(added);
      if (!isLarge(body)) {
        const admitsSeries = series.admits(seriesMax, added);
        try {
          const encoded = readers[encoding].encode(body.bytes, {
            ...context,
            ...(wantsSample === undefined ? {} : { wantsSample }),
            ...(admitsSeries === undefined ? {} : { admitsSeries }),
            resolve: (token) => owners.get(token) ?? 'invalid',
            tokenKeys,
          });
          return { encoded, forgetSeries };
        } catch (error) {
          forgetSeries();
          throw error;
        }
      }
      // A thread judges by hashes that this one made.
      const threadContext = { ...context, seriesSeed: ownSeriesSeed };
      const job = {
        ...{ pipeline, encoding, tokenKeys: tokenAttributes, owners, elementsMax },
        context: threadContext,
      };
      const { encoded, seen } = await large.encode(body, job, () => series.shares(seriesMax), deadlineAt);
      series.settle(seriesMax, seen, added);
      const samples = encoded.samples.filter(({ appId, reason }) => wantsSample?.(appId, reason) === true);
      return { encoded: { ...encoded, samples }, forgetSeries };
    },
  };
};
