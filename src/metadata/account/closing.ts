import type { UnreadStream } from '../../account/accounts.ts';
import { type FoundDifference, isOpen } from '../../account/difference.ts';

/** Which differences a closing names: those of a data id or of an application (0: without a known owner), of one kind, of one stream. */
export type Closing = {
  readonly dataId: number | undefined;
  readonly appId: number | undefined;
  readonly kind?: string | undefined;
  readonly stream?: string | undefined;
};

/** The open ones of these that the closing names. What is not known is closed by its kind alone: it may hide a loss. */
export const openOf = (
  { dataId, appId, kind, stream }: Closing,
  found: readonly FoundDifference[],
): FoundDifference[] =>
  found.filter(
    (each) =>
      isOpen(each) &&
      each.dataId === (dataId ?? 0) &&
      each.appId === (appId ?? 0) &&
      (kind === undefined ? each.kind !== 'not_known' : each.kind === kind) &&
      (stream === undefined || each.stream === stream),
  );

/** The owner as people read it. */
export const ownerOfClosing = ({ dataId, appId }: Closing): string => {
  if ((dataId ?? appId ?? 0) === 0) return 'without a known owner';
  return dataId === undefined ? `application ${appId}` : `data id ${dataId}`;
};

/** That nothing is open, for people. */
export const nothingOpenText = (closing: Closing): string => {
  const { dataId, appId, kind, stream } = closing;
  const which = `open difference${kind === undefined ? '' : ` of kind ${kind}`}${stream === undefined ? '' : ` in stream ${stream}`}`;
  return (dataId ?? appId ?? 0) === 0
    ? `there is no ${which} without a known owner`
    : `${ownerOfClosing(closing)} has no ${which}`;
};

/**
 * Why a closing that finds nothing leaves a `not_known` open, which no table has: empty where it is of another kind. `areBooksKnown`: the books
 * are compared; `unread`: the streams that cannot be read.
 */
export const endsByItselfText = (
  { kind, stream }: Closing,
  areBooksKnown: boolean,
  unread: readonly UnreadStream[],
): string => {
  if (kind !== undefined && kind !== 'not_known') return '';
  const books = areBooksKnown
    ? ''
    : '; that the books cannot be compared, or LEDGER is not read, cannot be closed: it ends by itself once NATS and ClickHouse answer metadata, and transfer has written what waits in LEDGER';
  const streams = unread.flatMap((each) =>
    stream === undefined || stream === each.stream ? [each.stream] : [],
  );
  return streams.length === 0
    ? books
    : `${books}; that ${streams.join(', ')} cannot be read cannot be closed: it ends by itself once metadata reads it`;
};

/** What the audit notes of a closing: the owner as id, and each kind with its figures before and after. */
export const notedClosing = (closing: Closing, closed: readonly FoundDifference[], reason: string) => {
  const sums = new Map<string, { items: number; messages: number }>();
  for (const { kind, items, messages } of closed) {
    const sum = sums.get(kind) ?? { items: 0, messages: 0 };
    sums.set(kind, { items: sum.items + items, messages: sum.messages + messages });
  }
  const shown = (state: object) =>
    Object.fromEntries([...sums].map(([kind, sum]) => [kind, { ...sum, ...state }]));
  return {
    kind: 'account',
    id: ownerOfClosing(closing),
    before: shown({ is_open: true }),
    after: shown({ is_open: false, reason }),
  };
};
