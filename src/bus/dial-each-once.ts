import { ProtocolHandler } from '@nats-io/nats-core/internal';
import { AuthorizationError } from '@nats-io/transport-node';

/**
 * Lets the client end its first connect once each address was dialled, also those that servers name. It forgot a server that failed, and
 * took it again from the next server of its cluster: it dialled them for ever, without a pause, and nobody got the reason. That a server
 * refused the user is the reason that counts: another one may be down.
 */
export const dialEachOnceAtFirst = (): void => {
  ProtocolHandler.connect = async (options, publisher) => {
    const handler = new ProtocolHandler(options, publisher);
    const { servers } = handler;
    const { selectServer } = servers;
    const dialled = new Set<string>();
    servers.selectServer = () => {
      for (let left = servers.length(); left > 0; left--) {
        const server = selectServer.call(servers);
        if (server === undefined || dialled.has(server.listen)) continue;
        dialled.add(server.listen);
        return server;
      }
      return undefined;
    };
    try {
      await handler.dialLoop();
    } catch (error) {
      throw handler.lastError instanceof AuthorizationError ? handler.lastError : error;
    }
    // A lost connection is tried for ever.
    servers.selectServer = selectServer;
    return handler;
  };
};
