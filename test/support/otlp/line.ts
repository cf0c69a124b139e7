import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { ApplicationSource } from '../../../src/directory/applications.ts';
import type { Reply } from '../../../src/ingress/http/reply.ts';
import { createStubLines, directoryOf, tokenHeader } from './stub-lines.ts';

export type LineOptions = {
  readonly receiver: 'otlp' | 'grpc';
  /** Applications in memory, by token. */
  readonly known: ReadonlyMap<string, ApplicationSource>;
  /** Reads a token that is not in memory. */
  readonly lookUp: (token: string, isKnown?: boolean) => Promise<ApplicationSource | undefined>;
  readonly deadlineMs?: number;
};

/** The line of traces, with a bus that stores everything; the application of a token comes from the options. */
export const openLine = ({ receiver, known, lookUp, deadlineMs = 5_000 }: LineOptions) =>
  createStubLines({
    directory: directoryOf((token) => known.get(token), lookUp),
    failuresMax: 20,
    deadlineMs,
  }).lineOf('traces', receiver);

/** A request of one address in JSON, over a connection of its own. */
export const jsonRequest = (body: unknown, token?: string): IncomingMessage => {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: '192.0.2.1' });
  const request = new IncomingMessage(socket);
  request.headers['content-type'] = 'application/json';
  if (token !== undefined) request.headers[tokenHeader] = token;
  request.push(JSON.stringify(body));
  request.push(null);
  return request;
};

/** The status of an answer, over gRPC the one that it would have over HTTP. */
export const statusOf = ({ refused, status }: Reply): number => refused?.status ?? status;
