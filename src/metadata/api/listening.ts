import { type Server, STATUS_CODES } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { createConnectionCount } from '../../http/connections.ts';
import { createLimitedServer, type HttpLimits } from '../../http/limited-server.ts';
import { hostResponse, type ProtocolAnswer, type ProtocolStatus } from '../../http/protocol-errors.ts';
import type { Problem } from '../problem.ts';

/** The limits of one client of the admin API. The longest call, an import, sends nothing while it creates tables. */
const limits: HttpLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  idleTimeoutMs: 75_000,
  stallTimeoutMs: 900_000,
  headerBytesMax: 16_384,
};
const connectionsMax = 1_024;

const problemOf = (status: ProtocolStatus | 503, code: string, detail: string) => {
  const title = STATUS_CODES[status] ?? String(status);
  const problem: Problem = { type: `urn:tidemark:problem:${code}`, title, status, detail, code };
  return { body: JSON.stringify(problem), headers: { 'Content-Type': 'application/problem+json' } };
};

const protocolAnswer: ProtocolAnswer = (status) =>
  problemOf(status, 'protocol_error', 'malformed HTTP request');

const overloadAnswer = () => {
  const { body, headers } = problemOf(503, 'too_many_connections', 'too many connections');
  return { body, headers: { ...headers, 'Retry-After': '2' } };
};

/** The HTTP server of the admin API, which holds its clients to limits. */
export const createApiServer = ({ fetch }: Pick<Hono, 'fetch'>): Server =>
  createLimitedServer(
    {
      // The body limit constructs a Request, which has to be the adapter's: the adapter must override the global class.
      listener: getRequestListener(fetch, {
        errorHandler: () => hostResponse(protocolAnswer),
      }),
      protocolAnswer,
      overloadAnswer,
      makesRoom: true,
    },
    {
      limits,
      connections: createConnectionCount({
        connectionsMax,
        addressConnectionsMax: 0,
        isExempt: () => false,
      }),
    },
  );
