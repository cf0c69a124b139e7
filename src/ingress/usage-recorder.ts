import { clientAddress, isTrusted, type TrustedProxies } from '../http/client-address.ts';
import type { Incoming, Peer } from '../http/incoming.ts';
import type { Pipeline } from '../model/signals.ts';
import type { UsageBook } from '../outcomes/usage-book.ts';
import type { Body } from './http/body.ts';
import { senderName } from './sender.ts';

/** What usage keeps of a request. */
export type UsedBy = { readonly request: Incoming; readonly secrets: readonly string[] };

/** Counts the usage of requests that are answered with success (architecture 10.1): once each, not for repeats. */
export type UsageRecorder = {
  /**
   * `owners` are the owners with items that go on, with the number of those items. A request of several owners counts for each of
   * them, and its bytes are divided by their items. `sdk` comes from its resource, else it is empty.
   */
  accepted(
    sender: UsedBy,
    body: Body,
    owners: ReadonlyMap<number, number>,
    arrivedAt: number,
    sdk: string,
  ): void;
  /** The same with one owner. */
  acceptedOf(sender: UsedBy, body: Body, owner: number, arrivedAt: number, sdk: string): void;
};

/** Of a connection without a proxy the address is looked up once: that would be most of the cost of a count. */
const createAddresses = (trustedProxies: TrustedProxies): ((request: Incoming) => string) => {
  const known = new WeakMap<Peer, string>();
  return (request) => {
    const { socket } = request;
    const before = known.get(socket);
    if (before !== undefined) return before;
    const address = clientAddress(request, trustedProxies);
    if (!isTrusted(trustedProxies, socket.remoteAddress ?? '')) known.set(socket, address);
    return address;
  };
};

export const createUsageRecorder = (
  pipeline: Pipeline,
  book: Pick<UsageBook, 'add'>,
  trustedProxies: TrustedProxies,
): UsageRecorder => {
  const addressOf = createAddresses(trustedProxies);
  const senderOf = ({ request, secrets }: UsedBy, sdk: string) => ({
    address: addressOf(request),
    sdk: senderName(sdk, request.headers['user-agent']),
    secrets,
  });
  return {
    accepted: (sender, { wireBytes, bytes }, owners, arrivedAt, sdk) => {
      const from = senderOf(sender, sdk);
      let total = 0;
      for (const items of owners.values()) total += items;
      let before = 0;
      // Each share ends where the next one begins: together they are the bytes of the request.
      const shareOf = (all: number, items: number): number =>
        Math.floor((all * (before + items)) / total) - Math.floor((all * before) / total);
      for (const [owner, items] of owners) {
        book.add(pipeline, owner, arrivedAt, shareOf(wireBytes, items), shareOf(bytes.length, items), from);
        before += items;
      }
    },
    acceptedOf: (sender, { wireBytes, bytes }, owner, arrivedAt, sdk) =>
      book.add(pipeline, owner, arrivedAt, wireBytes, bytes.length, senderOf(sender, sdk)),
  };
};
