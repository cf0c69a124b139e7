import { buildItemsMessage } from '../../../src/ingress/otlp/message.ts';
import { uidBase } from '../../../src/model/uid.ts';
import { jsonLogs } from '../../../src/rules/logs/json-logs.ts';
import { defaultItemLimits, type ItemsRun } from '../../../src/wire/otlp/types.ts';
import { defaultTimePolicy } from '../time-policy.ts';

/** A log record: its time, ms since 1970, and what identifies it. */
export type LogRow = { readonly at: number; readonly service: string; readonly body: string };

type Message = {
  /** The uid of the first record. */
  readonly base: bigint;
  readonly appId: number;
  readonly arrivedAt: number;
  readonly mayOverlap?: boolean;
  /** Texts of deferred records, beside the others. */
  readonly deferred?: readonly object[];
};

const requestOf = (rows: readonly LogRow[]) => ({
  resourceLogs: rows.map(({ at, service, body }) => ({
    resource: { attributes: [{ key: 'service.name', value: { stringValue: service } }] },
    scopeLogs: [{ logRecords: [{ timeUnixNano: `${at}000000`, body: { stringValue: body } }] }],
  })),
});

const encodedRun = (rows: readonly LogRow[], { base, appId, arrivedAt }: Message): ItemsRun => {
  const { runs } = jsonLogs.encode(Buffer.from(JSON.stringify(requestOf(rows))), {
    resolve: () => ({
      appId,
      bizId: 2,
      fillDimensions: false,
      policy: { ...defaultTimePolicy, aheadMsMax: undefined },
    }),
    clientIp: '203.0.113.9',
    base: uidBase(base),
    arrivedAt,
    limits: defaultItemLimits,
  });
  const [run, ...others] = runs;
  if (run === undefined || others.length > 0) throw new Error(`${runs.length} runs`);
  return run;
};

/** The blocks of these records, by day, as the receiver makes them. */
export const logBlocks = (rows: readonly LogRow[], message: Message): Uint8Array[] =>
  encodedRun(rows, message).parts.map(({ block }) => block);

/** A message of LOGS with these records, and with deferred ones after them. */
export const logsMessage = (rows: readonly LogRow[], message: Message): Buffer => {
  const { base, appId, arrivedAt, mayOverlap = false, deferred = [] } = message;
  const run = encodedRun(rows, message);
  const group = {
    ...{ appId, bizId: 2, policy: defaultTimePolicy },
    ordinals: deferred.map((_, index) => rows.length + index),
    texts: deferred.map((item) => JSON.stringify(item)),
  };
  return buildItemsMessage({
    ...{ pipeline: 'logs', base: uidBase(base), arrivedAt, mayOverlap },
    run: deferred.length === 0 ? run : { ...run, deferred: [group] },
  });
};
