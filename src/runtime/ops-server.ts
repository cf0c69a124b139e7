import { type RequestListener, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { createConnectionCount } from '../http/connections.ts';
import { createLimitedServer, type HttpLimits } from '../http/limited-server.ts';
import type { ProtocolAnswer } from '../http/protocol-errors.ts';
import { proxyHeaderText } from '../http/proxy-header.ts';
import { pathOf } from '../http/request-target.ts';
import { metersIn } from '../telemetry/meters.ts';
import type { Readiness, ReadyChecks } from './checks.ts';
import { listen } from './listen.ts';
import { createScrapes } from './scrapes.ts';

const reasonsOf = (checks: ReadyChecks): Record<string, string> => {
  const reasons: Record<string, string> = {};
  for (const [name, check] of Object.entries(checks)) {
    const why = check();
    if (why !== undefined) reasons[name] = why;
  }
  return reasons;
};

/**
 * The answer of `/readyz`: 200 while the process can do its work or a part of it, else 503. `failing` names what keeps the process
 * from its work, `degraded` what it shares with others and misses, each with the reason.
 */
export const readinessAnswer = ({ checks, degraded }: Readiness): { status: 200 | 503; body: string } => {
  const failing = reasonsOf(checks);
  const ready = Object.keys(failing).length === 0;
  return {
    status: ready ? 200 : 503,
    body: JSON.stringify({ ready, failing, degraded: reasonsOf(degraded) }),
  };
};

/** `/readyz` as metrics: whether the role is ready, and each check that fails or is degraded. */
const exposeReadiness = (registry: Registry, { checks, degraded }: Readiness): void => {
  const { gauge } = metersIn(registry);
  gauge({
    name: 'tidemark_ready',
    help: '1 while the role is ready, as /readyz reports it',
    remedy: '0 for minutes: read `/readyz` of that process; it names the failing check',
    collect() {
      this.set(Object.values(checks).some((check) => check() !== undefined) ? 0 : 1);
    },
  });
  const expose = (each: ReadyChecks, metric: { name: string; help: string; remedy: string }): void => {
    gauge({
      ...metric,
      labelNames: ['check'],
      collect() {
        for (const [label, check] of Object.entries(each))
          this.set({ check: label }, check() === undefined ? 0 : 1);
      },
    });
  };
  expose(checks, {
    name: 'tidemark_check_failing',
    help: '1 while this check of /readyz fails; the answer of /readyz has the reason',
    remedy: '`/readyz` has the reason; docs/runbook.md#tidemarknotready',
  });
  expose(degraded, {
    name: 'tidemark_check_degraded',
    help: '1 while /readyz lists this under degraded; the answer of /readyz has the reason',
    remedy:
      'repair the dependency that `/readyz` names; the process works on; docs/runbook.md#tidemarkdegraded',
  });
};

/** The limits of one client of an operations port: probes and Prometheus send few requests and disconnect at once. */
const limits: HttpLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 10_000,
  idleTimeoutMs: 75_000,
  stallTimeoutMs: 10_000,
  headerBytesMax: 8_192,
};
const connectionsMax = 256;
const openRequestsMax = 4;

const plainText = { 'Content-Type': 'text/plain' };
const protocolAnswer: ProtocolAnswer = (status, { fault } = {}) => ({
  body: `${fault === 'proxy_header' ? proxyHeaderText : `malformed HTTP request: ${STATUS_CODES[status] ?? status}`}\n`,
  headers: plainText,
});
const overloadAnswer = () => ({
  body: 'too many connections\n',
  headers: { ...plainText, 'Retry-After': '2' },
});

/** Serves `/livez`, `/readyz` and `/metrics` of one role. Throws a permanent Fault when the port is taken. */
export const startOpsServer = async (options: {
  host: string;
  port: number;
  variable: string;
  registry: Registry;
  readiness: Readiness;
}): Promise<{ port: number; stop(): Promise<void> }> => {
  exposeReadiness(options.registry, options.readiness);
  const scrape = createScrapes(options.registry);
  const listener: RequestListener = (request, response) => {
    const path = pathOf(request.url ?? '');
    const answer = (status: number, type: string, body: string | Buffer): void => {
      response
        .writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) })
        .end(body);
    };
    if (request.headers.host === undefined) return answer(400, 'text/plain', 'the Host field is missing\n');
    if (path === '/livez') return answer(200, 'application/json', '{"live":true}');
    if (path === '/readyz') {
      const { status, body } = readinessAnswer(options.readiness);
      return answer(status, 'application/json', body);
    }
    if (path === '/metrics') {
      scrape().then(
        (text) => answer(200, options.registry.contentType, text),
        () => answer(500, 'text/plain', 'internal error; see the log\n'),
      );
      return;
    }
    answer(404, 'text/plain', 'unknown path: use /livez, /readyz or /metrics\n');
  };
  const server = createLimitedServer(
    { listener, protocolAnswer, overloadAnswer, makesRoom: true, openRequestsMax },
    {
      limits,
      connections: createConnectionCount({
        connectionsMax,
        addressConnectionsMax: 0,
        isExempt: () => false,
      }),
    },
  );
  await listen(server, { host: options.host, port: options.port, portVariable: options.variable });
  const address: AddressInfo | string | null = server.address();
  return {
    port: address === null || typeof address === 'string' ? options.port : address.port,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};
