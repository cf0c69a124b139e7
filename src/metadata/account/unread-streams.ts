import type { UnreadStream } from '../../account/accounts.ts';
import type { FurtherStreams } from '../further-streams.ts';
import type { Records } from '../records/store.ts';

/** The streams that this process cannot read: the account of the data ids that they carry is not known. */
export type UnreadStreams = {
  /** Those that the records place a data id on, whether or not it has items. */
  all(): readonly UnreadStream[];
  /** That of a data id; undefined where its stream is read, and of a purged one. */
  of(dataId: number): UnreadStream | undefined;
};

type Sources = {
  readonly furtherStreams: Pick<FurtherStreams, 'unreadSince' | 'placedUnread'>;
  readonly purges: Pick<Records['purges'], 'known'>;
  readonly streamOf: (dataId: number) => string;
};

const secondsOf = (ms: number): number => Math.floor(ms / 1_000);

/** Both from one look, so that a stream that makes the account unknown is named wherever people look for the cause. */
export const createUnreadStreams = ({ furtherStreams, purges, streamOf }: Sources): UnreadStreams => ({
  all: () => furtherStreams.placedUnread().map(({ stream, since }) => ({ stream, since: secondsOf(since) })),
  of: (dataId) => {
    if (purges.known(dataId) !== undefined) return undefined;
    const stream = streamOf(dataId);
    const since = furtherStreams.unreadSince(stream);
    return since === undefined ? undefined : { stream, since: secondsOf(since) };
  },
});
