import { Socket } from 'node:net';
import { NatsConnectionImpl } from '@nats-io/nats-core/internal';
import type { NatsConnection } from '@nats-io/transport-node';
import { Fault } from '../model/fault.ts';
import type { Command } from './publish-command.ts';
import { tooLarge } from './too-large.ts';
import { createTurnGathering } from './turn-gathering.ts';

/**
 * Sends commands that are bytes already, in the way in which the client sends its own; those of one turn of the event loop together.
 * Throws, like the client's `publish`, when the connection is closed and for a message that is larger than the server's limit; `askLimit`
 * is called for such a one.
 */
export const commandSender = (
  nc: NatsConnection,
  askLimit: () => Promise<void>,
): ((command: Command) => void) => {
  if (!(nc instanceof NatsConnectionImpl))
    throw new Fault('internal', 'nats_client', 'the connection does not belong to the bundled NATS client');
  const { protocol } = nc;
  const gather = createTurnGathering(() => {
    const { transport } = protocol;
    return 'socket' in transport && transport.socket instanceof Socket ? transport.socket : undefined;
  });
  return ({ bytes, size }) => {
    if (nc.isClosed() || protocol.noMorePublishing)
      throw new Fault('transient', 'nats_closed', 'the connection to NATS is closed');
    const { max_payload: sizeMax = size } = nc.info ?? {};
    if (size > sizeMax) {
      void askLimit();
      throw tooLarge(size, sizeMax);
    }
    gather(size);
    protocol.sendCommand(bytes);
  };
};
