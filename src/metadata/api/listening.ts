import { type Server, STATUS_CODES } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Settings } from '../../config/settings.ts';
import { createConnectionCount } from '../../http/connections.ts';
import { type Certificate, createLimitedServer, type HttpLimits } from '../../http/limited-server.ts';
import { hostResponse, type ProtocolAnswer, type ProtocolStatus } from '../../http/protocol-errors.ts';
import { proxyHeaderText } from '../../http/proxy-header.ts';
import { openTlsFiles, type TlsFiles, tlsPathsOf } from '../../runtime/tls-files.ts';
import type { Log } from '../../telemetry/log.ts';
import type { TlsMetrics } from '../../telemetry/shared-metrics.ts';
import type { Problem } from '../problem.ts';

/** The limits of one client of the admin API, also of a TLS handshake. The longest call, an import, is silent while it creates tables. */
const limits: HttpLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  idleTimeoutMs: 75_000,
  stallTimeoutMs: 10_000,
  keptStallTimeoutMs: 900_000,
  headerBytesMax: 16_384,
};
const connectionsMax = 1_024;
/** No client of the API sends a request before the answer to the last one; each may hold an answer in memory. */
const openRequestsMax = 2;

const problemOf = (status: ProtocolStatus | 503, code: string, detail: string) => {
  const title = STATUS_CODES[status] ?? String(status);
  const problem: Problem = { type: `urn:tidemark:problem:${code}`, title, status, detail, code };
  return { body: JSON.stringify(problem), headers: { 'Content-Type': 'application/problem+json' } };
};

const protocolAnswer: ProtocolAnswer = (status, { fault } = {}) =>
  problemOf(status, 'protocol_error', fault === 'proxy_header' ? proxyHeaderText : 'malformed HTTP request');

const overloadAnswer = () => {
  const { body, headers } = problemOf(503, 'too_many_connections', 'too many connections');
  return { body, headers: { ...headers, 'Retry-After': '2' } };
};

/** The HTTP server of the admin API, which holds its clients to limits; over TLS with a certificate. */
export const createApiServer = (fetch: Parameters<typeof getRequestListener>[0], tls?: Certificate): Server =>
  createLimitedServer(
    {
      // The body limit constructs a Request, which has to be the adapter's: the adapter must override the global class.
      listener: getRequestListener(fetch, {
        errorHandler: () => hostResponse(protocolAnswer),
      }),
      protocolAnswer,
      overloadAnswer,
      makesRoom: true,
      // A killed client looks the same, and its call on many dead letters would go on where nobody sees it.
      endsWithClient: true,
      openRequestsMax,
    },
    {
      limits,
      tls,
      connections: createConnectionCount({
        connectionsMax,
        addressConnectionsMax: 0,
        isExempt: () => false,
      }),
    },
  );

/** The certificate of the admin API; undefined for plain HTTP. Throws a permanent Fault for unusable files. */
export const openApiTls = ({
  settings,
  metrics,
  log,
}: {
  readonly settings: Settings;
  readonly metrics: TlsMetrics;
  readonly log: Log;
}): TlsFiles | undefined => {
  const { tlsCertFile, tlsKeyFile } = settings.metadata;
  const paths = tlsPathsOf('TIDEMARK_METADATA_TLS', { tlsCertFile, tlsKeyFile, tlsClientCaFile: undefined });
  return paths === undefined ? undefined : openTlsFiles(paths, limits.headersTimeoutMs, metrics, log);
};
