import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codes } from '../../src/ingress/grpc/status.ts';
import { connectGrpc, type GrpcClient } from '../support/grpc/client.ts';
import { answersIn, openRaw, type RawConnection } from '../support/http/raw-client.ts';
import { traceExportPath } from '../support/otlp/export-paths.ts';
import { type Certificate, makeAuthority, makeCertificate } from '../support/stack/certificates.ts';
import { type RoleProcess, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

let folder: string;
let authority: Certificate;
let first: Certificate;
let second: Certificate;
let client: Certificate;
let stranger: Certificate;
let stack: Stack;
let body = '';
let otlpToken = '';

const serving = (): { cert: string; key: string } => ({
  cert: join(folder, 'serving.crt'),
  key: join(folder, 'serving.key'),
});

/** Puts a certificate where ingress reads it. */
const serve = ({ certFile, keyFile }: Certificate): void => {
  copyFileSync(certFile, serving().cert);
  copyFileSync(keyFile, serving().key);
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  authority = makeAuthority(folder, 'authority');
  first = makeCertificate(folder, 'first', authority);
  second = makeCertificate(folder, 'second', authority);
  client = makeCertificate(folder, 'client', authority);
  const other = makeAuthority(folder, 'other');
  stranger = makeCertificate(folder, 'stranger', other);
  serve(first);
  stack = await startStack({
    env: {
      TIDEMARK_INGRESS_TLS_CERT_FILE: serving().cert,
      TIDEMARK_INGRESS_TLS_KEY_FILE: serving().key,
      TIDEMARK_INGRESS_PUSH_HOST: '::',
      TIDEMARK_INGRESS_OTLP_HOST: '::1',
      TIDEMARK_INGRESS_TRUSTED_PROXIES: '::1',
    },
  });
  const { mon_data_id: dataId, token } = (await stack.createReport('tls')).data_source;
  body = JSON.stringify({ data_id: dataId, access_token: token, data: [{ metrics: { load: 1 } }] });
  otlpToken = (await stack.createApplication('tls')).token;
  const ready = await push();
  await waitFor('the records to be known', 60_000, async () => (await askPush(ready)) === 200);
  ready.destroy();
  const exporter = await openRaw(stack.ingress[0]?.ports['otlp'] ?? 0, {
    host: '::1',
    tls: { ca: authority.cert },
  });
  await waitFor('the application to be known', 60_000, async () => (await askOtlp(exporter)) === 200);
  exporter.destroy();
});
afterAll(async () => {
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const ingress = (): RoleProcess => {
  const [process] = stack.ingress;
  if (process === undefined) throw new Error('there is no ingress');
  return process;
};

const push = (host = '127.0.0.1'): Promise<RawConnection> =>
  openRaw(ingress().ports['push'] ?? 0, { host, tls: { ca: authority.cert } });

/** Sends a request over a connection that is kept, and answers the status of its answer. */
const ask = async (connection: RawConnection, request: string): Promise<number | undefined> => {
  const before = answersIn(connection.text).length;
  connection.send(request);
  await connection.until(new RegExp(`(HTTP/1\\.1 [\\s\\S]*){${before + 1}}\\r\\n\\r\\n`));
  return answersIn(connection.text)[before]?.status;
};

const askPush = (connection: RawConnection): Promise<number | undefined> =>
  ask(
    connection,
    `POST /v2/push/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );

const askOtlp = (connection: RawConnection): Promise<number | undefined> =>
  ask(
    connection,
    `POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-MON-TOKEN: ${otlpToken}\r\nContent-Length: 2\r\n\r\n{}`,
  );

/** A client of gRPC over a connection of its own. */
const overGrpc = (port = ingress().ports['grpc'] ?? 0, host = '[::1]', own: Partial<Certificate> = {}) =>
  connectGrpc(`https://${host}:${port}`, {
    ca: authority.cert,
    servername: 'localhost',
    ...(own.cert === undefined ? {} : { cert: own.cert, key: own.key }),
  });

const askGrpc = async (caller: GrpcClient): Promise<number | undefined> =>
  (await caller.call(traceExportPath, Buffer.alloc(0), { metadata: { 'x-mon-token': otlpToken } })).code;

/** Whose certificate a client of gRPC was shown. */
const nameOfGrpc = ({ session }: GrpcClient): unknown =>
  session.socket instanceof TLSSocket ? session.socket.getPeerCertificate().subject.CN : undefined;

const nameOf = ({ socket }: RawConnection): unknown =>
  socket instanceof TLSSocket ? socket.getPeerCertificate().subject.CN : undefined;

/** Whose certificate a new connection is shown. */
const shownTo = async (): Promise<unknown> => {
  const connection = await push();
  const name = nameOf(connection);
  connection.destroy();
  return name;
};

const figure = async (line: RegExp): Promise<number> => Number(line.exec(await ingress().metrics())?.[1]);

describe('the receivers over TLS', () => {
  it('keep a connection between requests, on IPv4 and IPv6', async () => {
    for (const host of ['127.0.0.1', '::1']) {
      const connection = await push(host);
      expect([await askPush(connection), await askPush(connection), nameOf(connection)]).toEqual([
        200,
        200,
        'first',
      ]);
      connection.destroy();
    }
    const exporter = await openRaw(ingress().ports['otlp'] ?? 0, {
      host: '::1',
      tls: { ca: authority.cert },
    });
    expect([await askOtlp(exporter), await askOtlp(exporter)]).toEqual([200, 200]);
    exporter.destroy();
  });

  it('listen only on the configured ports', async () => {
    await expect(openRaw(ingress().ports['otlp'] ?? 0, { host: '127.0.0.1' })).rejects.toThrow(
      'ECONNREFUSED',
    );
  });

  it.each(['push', 'otlp'] as const)(
    'close a connection that speaks plain text, and count it (%s)',
    async (name) => {
      const ended = (): Promise<number> =>
        figure(
          new RegExp(`connections_ended_total\\{receiver="${name}",reason="tls_handshake"[^}]*\\} (\\d+)`),
        );
      const before = (await ended()) || 0;
      const connection = await openRaw(ingress().ports[name] ?? 0, { host: '::1' });
      connection.send('POST /v2/push/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n');
      expect(await connection.ended).not.toContain('HTTP/1.1 2');
      expect(await ended()).toBe(before + 1);
    },
  );
});

describe('a certificate that changes', () => {
  // A certificate lives for days, a process for months: who renews it does not restart what uses it.
  it.each([
    ['by itself', () => {}],
    ['at once with SIGHUP', () => ingress().signal('SIGHUP')],
  ])('is used by new connections %s, while old ones go on', async (_, tell) => {
    serve(first);
    tell();
    await waitFor('the first certificate', 60_000, async () => (await shownTo()) === 'first');
    const old = await push();
    expect(await askPush(old)).toBe(200);
    const oldGrpc = await overGrpc();
    expect([await askGrpc(oldGrpc), nameOfGrpc(oldGrpc)]).toEqual([codes.ok, 'first']);
    serve(second);
    tell();
    await waitFor('the second certificate', 60_000, async () => (await shownTo()) === 'second');
    expect([await askPush(old), nameOf(old)]).toEqual([200, 'first']);
    old.destroy();
    const newGrpc = await overGrpc();
    expect([await askGrpc(newGrpc), nameOfGrpc(newGrpc)]).toEqual([codes.ok, 'second']);
    expect(await askGrpc(oldGrpc)).toBe(codes.ok);
    for (const caller of [oldGrpc, newGrpc]) caller.close();
  });

  it.each([
    ['is no certificate', () => writeFileSync(serving().cert, 'none')],
    ['does not belong to its key', () => copyFileSync(first.certFile, serving().cert)],
    ['is gone', () => rmSync(serving().cert)],
  ])('and %s leaves the one before in use, in log and metrics', async (_, spoil) => {
    serve(second);
    const refused = (): Promise<number> => figure(/tls_files_refused\{[^}]*\} (\d+)/);
    await waitFor(
      'the second certificate',
      60_000,
      async () => (await shownTo()) === 'second' && (await refused()) === 0,
    );
    const logged = (): number => ingress().lines.filter((line) => line.includes('cannot be used')).length;
    const before = logged();
    spoil();
    await waitFor('the files to be refused', 60_000, async () => (await refused()) === 1);
    await waitFor('it to be logged', 60_000, () => logged() > before);
    expect([await shownTo(), logged()]).toEqual(['second', before + 1]);
    serve(second);
    await waitFor('the files to be taken', 60_000, async () => (await refused()) === 0);
    const expiry = await figure(/certificate_expiry_timestamp_seconds\{[^}]*\} ([\d.e+]+)/);
    expect(Math.abs(expiry * 1000 - Date.now() - 86_400_000)).toBeLessThan(3_600_000);
  });
});

describe('a receiver that requires certificates of clients', () => {
  // Last in the file: the process restarts with another setting.
  it('takes those of its authority alone', async () => {
    const { env } = stack;
    const options = (own: Certificate | undefined) => ({
      tls: { ca: authority.cert, ...(own === undefined ? {} : { cert: own.cert, key: own.key }) },
    });
    const other = await startStack({
      env: {
        TIDEMARK_INGRESS_TLS_CERT_FILE: env['TIDEMARK_INGRESS_TLS_CERT_FILE'] ?? '',
        TIDEMARK_INGRESS_TLS_KEY_FILE: env['TIDEMARK_INGRESS_TLS_KEY_FILE'] ?? '',
        TIDEMARK_INGRESS_TLS_CLIENT_CA_FILE: authority.certFile,
      },
    });
    try {
      const process = other.ingress[0];
      const port = process?.ports['push'] ?? 0;
      const known = await openRaw(port, options(client));
      known.send('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
      expect(answersIn(await known.ended).map(({ status }) => status)).toEqual([404]);
      for (const own of [undefined, stranger]) {
        const refused = await openRaw(port, options(own));
        refused.send('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
        expect(await refused.ended).toBe('');
      }
      // They were resets like any other, and nothing named who was refused.
      const ended = /connections_ended_total\{receiver="push",reason="(\w+)"[^}]*\} ([1-9]\d*)/g;
      const counted = [...((await process?.metrics()) ?? '').matchAll(ended)];
      expect(counted.map(([, reason, count]) => [reason, count])).toEqual([['tls_handshake', '2']]);
      const named = (process?.lines ?? []).flatMap((line) =>
        line.includes('the TLS handshake of a client failed')
          ? [/"address":"(?:::ffff:)?127\.0\.0\.1","code":"(\w+)"/.exec(line)?.[1]]
          : [],
      );
      expect(named).toEqual(['ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE']);
      const grpcPort = other.ingress[0]?.ports['grpc'];
      const caller = await overGrpc(grpcPort, 'localhost', client);
      // The certificate opens the connection; the token is still wanted.
      expect(await askGrpc(caller)).toBe(codes.unauthenticated);
      caller.close();
      for (const own of [{}, stranger]) {
        const reached = overGrpc(grpcPort, 'localhost', own).then(async (refused) => {
          const code = await askGrpc(refused);
          refused.close();
          return code;
        });
        expect(await reached.catch(() => undefined)).toBeUndefined();
      }
    } finally {
      await other.stop();
    }
  });
});
