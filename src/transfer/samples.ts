import type { Samples } from '../outcomes/samples.ts';
import type { DeadLettered, Sink } from './sink.ts';

/** Samples that only transfer has: items that a store refused, and items of a purged data id. */
export type TransferSamples = {
  deadLettered(pipeline: Sink<unknown>['pipeline'], aside: DeadLettered): void;
  /** Data ids whose items the write omitted. */
  purged(dataIds: Iterable<number>): void;
};

/**
 * Write tokens have 32 hexadecimal digits and tokens of the admin API 64. Transfer knows none of them, so it takes every such text
 * for one.
 */
export const looksLikeToken = (text: string): boolean => /^(?:[0-9a-f]{32}|[0-9a-f]{64})$/i.test(text);

/** Dead letters that are text: a row of line protocol, a deferred item. Blocks and messages are bytes. */
const textReasons = new Set(['row_refused', 'deferred_item_valid']);
const payloadBytesMax = 4096;

export const createTransferSamples = (samples: Samples): TransferSamples => {
  const common = {
    stage: 'transfer',
    ordinal: -1,
    field: '',
    value: undefined,
    sender: '',
    sdk: '',
  } as const;
  return {
    deadLettered: (pipeline, { reason, why, bytes, place }) => {
      const owner = (pipeline === 'metrics' ? place.dataId : place.appId) ?? 0;
      if (pipeline === 'ledger' || !samples.wants(pipeline, owner, reason)) return;
      samples.add({
        ...common,
        pipeline,
        owner,
        reason,
        detail: why,
        payload: textReasons.has(reason)
          ? Buffer.from(bytes.subarray(0, payloadBytesMax)).toString('utf8')
          : undefined,
      });
    },
    purged: (dataIds) => {
      const reason = 'data_source_purged';
      for (const owner of dataIds) {
        if (!samples.wants('metrics', owner, reason)) continue;
        samples.add({ ...common, pipeline: 'metrics', owner, reason, detail: '', payload: undefined });
      }
    },
  };
};
