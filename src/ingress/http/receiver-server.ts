import type { Server } from 'node:http';
import { createLimitedServer, type LimitedServer, type Limits } from '../../http/limited-server.ts';
import type { IngressMetrics } from '../../telemetry/metrics.ts';
import type { TlsFiles } from './tls-files.ts';

/** What both receivers listen with. */
export type Listening = Limits & { readonly metrics: IngressMetrics; readonly tls: TlsFiles | undefined };

type Receiver = Pick<LimitedServer, 'listener' | 'protocolAnswer' | 'overloadAnswer'> & {
  readonly name: 'push' | 'otlp';
};

/** A receiver's HTTP server: no client holds more than its limits, and every connection that is ended for one is counted by reason. */
export const createReceiverServer = ({ name, ...receiver }: Receiver, listening: Listening): Server => {
  const { metrics } = listening;
  return createLimitedServer(
    {
      ...receiver,
      holdsContinue: true,
      onEnded: (reason) => metrics.connectionsEnded.inc({ receiver: name, reason }),
      onConnections: (by) => metrics.connections.inc({ receiver: name }, by),
    },
    listening,
  );
};
