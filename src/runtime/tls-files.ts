import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { settingFault } from '../config/settings.ts';
import type { OnFailedHandshake } from '../http/handshakes.ts';
import type { Certificate } from '../http/limited-server.ts';
import { errorText } from '../model/fault.ts';
import type { Log } from '../telemetry/log.ts';
import type { TlsMetrics } from '../telemetry/shared-metrics.ts';
import { certificatesIn, type ServedCertificate, servedCertificate, type Validity } from './certificates.ts';
import { hasCode } from './files.ts';

/** The beginning of the settings' names of a server with certificate files. */
export type TlsSettings = 'TIDEMARK_INGRESS_TLS' | 'TIDEMARK_METADATA_TLS';

/** The paths of a server's certificate files, PEM. */
export type TlsPaths = {
  readonly settings: TlsSettings;
  readonly certFile: string;
  readonly keyFile: string;
  /** When set, clients need a certificate of these authorities. */
  readonly clientCaFile: string | undefined;
};

/** The certificate in use, and the subscription to the next one. */
export type TlsFiles = Certificate & {
  /** Reads the files again now. An unusable pair changes only the metric and the log. */
  reload(): void;
  stop(): void;
};

/** Polling beats watching: it sees renamed links, as of mounted secrets, and files on a network. */
const lookEveryMs = 1000;

/** Files of secrets are often for root alone, and roles in containers have another user. */
const unreadable = (path: string, error: unknown): unknown => {
  if (!hasCode(error, 'EACCES')) return error;
  const user = process.geteuid?.();
  return new Error(`${path} cannot be read by this process, whose user has the id ${user} (EACCES)`, {
    cause: error,
  });
};

/** Throws an Error that names file and user where the user may not read the file. */
const readOne = (path: string): Buffer => {
  try {
    return readFileSync(path);
  } catch (error) {
    throw unreadable(path, error);
  }
};

/** Bytes of the files, to detect a change. */
const read = ({ certFile, keyFile, clientCaFile }: TlsPaths): SecureContextOptions => ({
  cert: readOne(certFile),
  key: readOne(keyFile),
  minVersion: 'TLSv1.2',
  ...(clientCaFile === undefined ? {} : { ca: readOne(clientCaFile) }),
});

const textOf = ({ cert, key, ca }: SecureContextOptions): string => [cert, key, ca].map(String).join('\n');

/** What clients will be shown. Throws an Error when the files do not parse or do not belong together. */
const check = (context: SecureContextOptions): ServedCertificate => {
  createSecureContext(context);
  if (context.ca !== undefined) certificatesIn(String(context.ca), 'client authorities');
  return servedCertificate(String(context.cert), String(context.key));
};

/** Why a certificate is not valid now; undefined while it is. */
const invalidText = (what: string, { fromMs, untilMs }: Validity): string | undefined => {
  const now = Date.now();
  if (now >= untilMs) return `${what} expired at ${new Date(untilMs).toISOString()}`;
  return now < fromMs ? `${what} is not valid before ${new Date(fromMs).toISOString()}` : undefined;
};

/** Why clients that check the certificate refuse it now; undefined while it is valid. */
const whyInvalid = ({ own }: ServedCertificate): string | undefined => invalidText('the certificate', own);

/** Why some clients may refuse a valid one: others know a root, or have an issuer of their own, and need none of the file. */
const whyDoubtful = (served: ServedCertificate): string | undefined =>
  whyInvalid(served) === undefined ? invalidText('an issuer in its file', served.chain) : undefined;

/** In log lines: the log writes equal lines once, and two certificates may end on one day. */
const nameOf = ({ subject, serial }: ServedCertificate) => ({ subject, serial });

/** Throws a permanent Fault that names the settings when only one of the pair is set. undefined: plain HTTP. */
export const tlsPathsOf = (
  settings: TlsSettings,
  server: {
    readonly tlsCertFile: string | undefined;
    readonly tlsKeyFile: string | undefined;
    readonly tlsClientCaFile: string | undefined;
  },
): TlsPaths | undefined => {
  const { tlsCertFile: certFile, tlsKeyFile: keyFile, tlsClientCaFile: clientCaFile } = server;
  if (certFile !== undefined && keyFile !== undefined) return { settings, certFile, keyFile, clientCaFile };
  if (certFile === undefined && keyFile === undefined && clientCaFile === undefined) return undefined;
  throw settingFault(
    certFile === undefined ? `${settings}_CERT_FILE` : `${settings}_KEY_FILE`,
    'TLS needs a certificate and its key, and one is missing',
    'Set both, or neither for plain HTTP',
  );
};

/** Of bytes that are no TLS the code alone misleads: they have no version. */
const failedHandshakeIn =
  (log: Log): OnFailedHandshake =>
  (address, code) => {
    const isPlain = code === 'ERR_SSL_WRONG_VERSION_NUMBER';
    const cause = isPlain ? { cause: 'no TLS: plain text, or a header of the PROXY protocol' } : {};
    log.warn({ address, code, ...cause }, 'the TLS handshake of a client failed');
  };

const handshakeOf = ({ clientCaFile }: TlsPaths, headersTimeoutMs: number) => ({
  ...(clientCaFile === undefined ? {} : { requestCert: true, rejectUnauthorized: true }),
  ...(headersTimeoutMs > 0 ? { handshakeTimeout: headersTimeoutMs } : {}),
});

/** Throws a permanent Fault for unusable files. */
const readFirst = (paths: TlsPaths): { context: SecureContextOptions; served: ServedCertificate } => {
  try {
    const context = read(paths);
    return { context, served: check(context) };
  } catch (error) {
    throw settingFault(
      ['CERT', 'KEY', 'CLIENT_CA'].map((name) => `${paths.settings}_${name}_FILE`).join(', '),
      errorText(error),
      'Use PEM files that this user may read: a certificate chain, its key, and authorities where clients need certificates',
    );
  }
};

/**
 * Throws the permanent Fault with which a server that has these files would not start. undefined: plain HTTP. `say` gets a warning of a
 * certificate with which it would start, and which clients refuse, or may refuse.
 */
export const requireTlsFiles = (paths: TlsPaths | undefined, say: (warning: string) => void): void => {
  if (paths === undefined) return;
  const { served } = readFirst(paths);
  const [why, doubt] = [whyInvalid(served), whyDoubtful(served)];
  if (why !== undefined) say(`${paths.settings}_CERT_FILE: ${why}; clients that check it refuse it`);
  if (doubt !== undefined) say(`${paths.settings}_CERT_FILE: ${doubt}; some clients may refuse it`);
};

/** Shows a certificate that came into use in the metric, and one that some clients may refuse in the log. */
const showIn =
  (metrics: TlsMetrics, log: Log) =>
  (served: ServedCertificate): void => {
    metrics.tlsExpiry.set(Math.floor(served.chain.untilMs / 1000));
    const doubt = whyDoubtful(served);
    if (doubt !== undefined)
      log.warn({ error: doubt, ...nameOf(served) }, 'some clients may refuse the certificate in use');
  };

/**
 * Reads certificate and key, and again whenever they change. Throws a permanent Fault when the first files cannot be used; when
 * later files cannot be used, the earlier pair stays in use, as it does while it is valid and the later certificate itself is not.
 */
export const openTlsFiles = (
  paths: TlsPaths,
  headersTimeoutMs: number,
  metrics: TlsMetrics,
  log: Log,
): TlsFiles => {
  const listeners: ((context: SecureContextOptions) => void)[] = [];
  const show = showIn(metrics, log);
  const { context: first, served: firstServed } = readFirst(paths);
  show(firstServed);
  const firstWhy = whyInvalid(firstServed);
  if (firstWhy !== undefined)
    log.error({ error: firstWhy, ...nameOf(firstServed) }, 'the certificate in use is not valid: renew it');
  let served = firstServed;
  let current = textOf(first);
  /** The last unusable files: logged once. */
  let refused = '';

  const refuse = (attempt: string, error: unknown): void => {
    metrics.tlsStale.set(1);
    if (attempt === refused) return;
    refused = attempt;
    metrics.tlsReloads.inc({ outcome: 'refused' });
    log.error(
      { error: errorText(error) },
      'the new certificate files cannot be used; the previous certificate stays in use',
    );
  };

  const take = (context: SecureContextOptions): void => {
    const next = check(context);
    const why = whyInvalid(next);
    if (why !== undefined && whyInvalid(served) === undefined) throw new Error(why);
    current = textOf(context);
    served = next;
    for (const listener of listeners) listener(context);
    show(next);
    metrics.tlsReloads.inc({ outcome: 'loaded' });
    if (why === undefined)
      log.info(
        { until: new Date(next.chain.untilMs).toISOString(), ...nameOf(next) },
        'a new certificate is in use',
      );
    else
      log.error(
        { error: why, ...nameOf(next) },
        'a new certificate is in use, and neither it nor the previous one is valid',
      );
  };

  const reload = (): void => {
    let attempt = 'unreadable';
    try {
      const context = read(paths);
      attempt = textOf(context);
      // Refused files, too: a certificate may become valid, or the previous one expire.
      if (attempt !== current) take(context);
      refused = '';
      metrics.tlsStale.set(0);
    } catch (error) {
      refuse(attempt, error);
    }
  };

  const timer = setInterval(reload, lookEveryMs).unref();
  process.on('SIGHUP', reload);
  return {
    options: { ...first, ...handshakeOf(paths, headersTimeoutMs) },
    onChange: (listener) => listeners.push(listener),
    onFailedHandshake: failedHandshakeIn(log),
    reload,
    stop: () => {
      clearInterval(timer);
      process.off('SIGHUP', reload);
    },
  };
};
