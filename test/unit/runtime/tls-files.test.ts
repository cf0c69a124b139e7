import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { openTlsFiles, type TlsFiles, type TlsPaths } from '../../../src/runtime/tls-files.ts';
import { metersIn } from '../../../src/telemetry/meters.ts';
import { tlsMetrics } from '../../../src/telemetry/shared-metrics.ts';
import { root } from '../../support/docs-code.ts';
import {
  type Certificate,
  crossSign,
  makeAuthority,
  makeCertificate,
  withTimes,
} from '../../support/stack/certificates.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

let authority: Certificate;
let other: Certificate;
let certificate: string;
let intermediate: string;
let viaIntermediate: Certificate;
let paths: TlsPaths;
let caFile: string;

let folder: string;

beforeEach(async () => {
  folder = await tempFolder();
  authority = makeAuthority(folder, 'authority');
  other = makeAuthority(folder, 'other');
  const { certFile, keyFile, cert } = makeCertificate(folder, 'server', authority);
  certificate = cert;
  const issuer = makeCertificate(folder, 'intermediate', authority);
  intermediate = issuer.cert;
  viaIntermediate = makeCertificate(folder, 'behind', issuer);
  // Only now: an earlier time would be before the certificate's.
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  caFile = join(folder, 'clients.crt');
  writeFileSync(caFile, authority.cert);
  paths = { settings: 'TIDEMARK_INGRESS_TLS', certFile, keyFile, clientCaFile: caFile };
});

type Line = readonly [level: string, fields: Record<string, unknown>, message: string];

type Opened = {
  lines: Line[];
  files: TlsFiles;
  refused: () => Promise<number | undefined>;
  loaded: string[];
  certificates: string[];
  expiry: () => Promise<number | undefined>;
  counted: () => Promise<Record<string, number>>;
};

const opened = (): Opened => {
  const metrics = tlsMetrics('ingress', metersIn(new Registry()));
  const lines: Line[] = [];
  const writer = (level: string) => (fields: Record<string, unknown>, message: string) =>
    void lines.push([level, fields, message]);
  const log = { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') };
  const files = openTlsFiles(paths, 0, metrics, log);
  onTestFinished(() => files.stop());
  const loaded: string[] = [];
  const certificates: string[] = [];
  files.onChange(({ ca, cert }) => {
    loaded.push(String(ca));
    certificates.push(String(cert));
  });
  const counted = async () =>
    Object.fromEntries(
      (await metrics.tlsReloads.get()).values.map(({ labels, value }) => [String(labels.outcome), value]),
    );
  const refused = async () => (await metrics.tlsStale.get()).values[0]?.value;
  const expiry = async () => (await metrics.tlsExpiry.get()).values[0]?.value;
  return { files, lines, loaded, certificates, refused, counted, expiry };
};

/** What a copy that was interrupted, or another file, leaves in the place of the authorities. */
const unusable: [what: string, text: () => string][] = [
  ['nothing', () => ''],
  ['no certificate', () => 'authorities of the clients\n'],
  ['a key', () => authority.key],
  ['a cut certificate', () => authority.cert.slice(0, 200)],
  ['a second certificate that is cut', () => authority.cert + other.cert.slice(0, 200)],
  ['a second certificate whose first line is cut', () => `${authority.cert}-----BEGIN CERT`],
  ['a first certificate that is cut', () => authority.cert.slice(0, 200) + other.cert],
  ['two certificates in one line', () => authority.cert.trimEnd() + other.cert],
  ['a damaged certificate', () => authority.cert.replace(/\n.{64}\n/, '\n')],
];

describe('a file of client authorities', () => {
  // Every client would be refused, and no alarm would say why.
  it.each(unusable)('with %s leaves the earlier one in use, and the metric says so', async (_, text) => {
    const { files, loaded, refused } = opened();
    writeFileSync(caFile, text());
    files.reload();
    expect([loaded, await refused()]).toEqual([[], 1]);
    writeFileSync(caFile, authority.cert);
    files.reload();
    expect([loaded, await refused()]).toEqual([[], 0]);
  });

  it.each(unusable)('with %s is refused at the start, by its setting', (_, text) => {
    writeFileSync(caFile, text());
    expect(opened).toThrow(/TIDEMARK_INGRESS_TLS_CLIENT_CA_FILE.*client authorities/);
  });

  it('is taken with several certificates, and with text between them', async () => {
    const { files, loaded, refused } = opened();
    const both = `the one, between -----BEGIN CERTIFICATE----- and its end\n${authority.cert}\nthe other\n${other.cert.replaceAll('\n', '\r\n')}`;
    writeFileSync(caFile, both);
    files.reload();
    expect([loaded, await refused()]).toEqual([[both], 0]);
  });

  // A TLS context takes them: only a whole line without an indent begins a block.
  it.each<[what: string, text: () => string]>([
    ['that only begins as a block does', () => '-----BEGIN of the authorities\n'],
    ['with the first line of a block, and more', () => '-----BEGIN CERTIFICATE----- of old\n'],
    ['with an indented block', () => other.cert.replaceAll(/^/gm, '  ').slice(0, 300)],
  ])('is taken with a comment %s, before a certificate and behind', async (_, text) => {
    const { files, loaded, refused } = opened();
    const commented = `${text()}\n${authority.cert}${text()}\n${other.cert}${text()}\n`;
    writeFileSync(caFile, commented);
    files.reload();
    expect([loaded, await refused()]).toEqual([[commented], 0]);
  });
});

describe('a key of another type than its certificate', () => {
  const rsaKey = (): string => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    return privateKey.export({ type: 'pkcs8', format: 'pem' });
  };

  // A TLS context takes it, and then every handshake fails.
  it('leaves the earlier pair in use, and the metric says so', async () => {
    const { files, certificates, refused } = opened();
    writeFileSync(paths.keyFile, rsaKey());
    files.reload();
    expect([certificates, await refused()]).toEqual([[], 1]);
  });

  it('is refused at the start, by its setting', () => {
    writeFileSync(paths.keyFile, rsaKey());
    expect(opened).toThrow(/TIDEMARK_INGRESS_TLS_KEY_FILE.*the key does not belong to the certificate/);
  });
});

const hourMs = 3_600_000;

const certificateFor = (fromHours: number, untilHours: number, of = certificate): string =>
  withTimes(of, fromHours, untilHours);

describe('a certificate that is not valid now', () => {
  // Every client that checks certificates would be refused, and the log would call it a success.
  it.each<[what: string, fromHours: number, untilHours: number]>([
    ['has expired', -2, -1],
    ['is not valid yet', 1, 2],
  ])('leaves the earlier, valid one in use when it %s, counted as refused once', async (_, from, until) => {
    const { files, certificates, refused, counted } = opened();
    writeFileSync(paths.certFile, certificateFor(from, until));
    files.reload();
    files.reload();
    expect([certificates, await refused(), await counted()]).toEqual([[], 1, { refused: 1 }]);
    writeFileSync(paths.certFile, certificate);
    files.reload();
    expect([certificates, await refused()]).toEqual([[], 0]);
  });

  it('is taken when its time begins', async () => {
    const { files, certificates, refused, counted } = opened();
    const later = certificateFor(1, 20);
    writeFileSync(paths.certFile, later);
    files.reload();
    expect(await refused()).toBe(1);
    vi.setSystemTime(Date.now() + 2 * hourMs);
    files.reload();
    expect([certificates, await refused(), await counted()]).toEqual([[later], 0, { refused: 1, loaded: 1 }]);
  });

  it('is taken where the earlier one is not valid either', async () => {
    const { files, certificates, refused } = opened();
    vi.setSystemTime(Date.now() + 30 * hourMs);
    const other = certificateFor(-2, -1);
    writeFileSync(paths.certFile, other);
    files.reload();
    expect([certificates, await refused()]).toEqual([[other], 0]);
  });
});

describe('the log of certificates', () => {
  // Otherwise the first to notice are the clients.
  it('names a certificate that is not valid at the start, as an error', () => {
    vi.setSystemTime(Date.now() + 30 * hourMs);
    expect(opened().lines).toEqual([
      [
        'error',
        expect.objectContaining({ error: expect.stringContaining('expired at'), subject: 'CN=server' }),
        'the certificate in use is not valid: renew it',
      ],
    ]);
  });

  it('says nothing of one that is', () => {
    expect(opened().lines).toEqual([]);
  });

  // The log writes equal lines once: a rotation there and back, or of two servers, would be one line.
  it('names each that comes into use by subject and serial number', () => {
    const { files, lines } = opened();
    serveBehind(chain());
    files.reload();
    const { serialNumber } = new X509Certificate(viaIntermediate.cert);
    const named = { subject: 'CN=behind', serial: serialNumber };
    expect(lines).toEqual([['info', expect.objectContaining(named), 'a new certificate is in use']]);
  });
});

const chain = (...others: readonly string[]): string => viaIntermediate.cert + others.join('');

const serveBehind = (text: string): void => {
  writeFileSync(paths.certFile, text);
  writeFileSync(paths.keyFile, viaIntermediate.key);
};

describe('a certificate chain', () => {
  // Clients may have another issuer, or none of these: only the certificate itself decides.
  it.each<[what: string, fromHours: number, untilHours: number]>([
    ['has expired', -2, -1],
    ['is not valid yet', 1, 2],
  ])('whose intermediate %s is taken, with a warning', async (_, from, until) => {
    const { files, certificates, refused, lines } = opened();
    const text = chain(certificateFor(from, until, intermediate));
    serveBehind(text);
    files.reload();
    expect([certificates, await refused()]).toEqual([[text], 0]);
    const warning = ['warn', expect.anything(), 'some clients may refuse the certificate in use'];
    expect(lines).toContainEqual(warning);
  });

  const crossSigned = (): { root: string; served: (...others: string[]) => string; day: number } => {
    // These are made later than the stopped clock.
    vi.setSystemTime(Date.now() + hourMs);
    const own = makeAuthority(folder, 'private root');
    const crossed = crossSign(folder, own, 'private root', other);
    const issuer = makeCertificate(folder, 'its issuer', own);
    const behind = makeCertificate(folder, 'behind its issuer', issuer);
    writeFileSync(paths.keyFile, behind.key);
    const expired = certificateFor(-2, -1, crossed);
    const day = Math.floor(Date.parse(new X509Certificate(issuer.cert).validTo) / 1000);
    return {
      root: own.cert,
      served: (...others) => behind.cert + issuer.cert + expired + others.join(''),
      day,
    };
  };

  // As after the end of an old root by which a new one was signed: clients have the new one.
  it('ends before a root that an expired one signed, where the root itself is in the file', async () => {
    const { root, served, day } = crossSigned();
    writeFileSync(paths.certFile, served(root));
    const { expiry, lines } = opened();
    expect([(await expiry()) ?? 0, lines]).toEqual([expect.closeTo(day, -1), []]);
  });

  it('ends before a root that an expired one signed, where the system has the root', async () => {
    const { root, served, day } = crossSigned();
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, root]);
    onTestFinished(() => setDefaultCACertificates(before));
    writeFileSync(paths.certFile, served());
    const { expiry, lines } = opened();
    expect([(await expiry()) ?? 0, lines]).toEqual([expect.closeTo(day, -1), []]);
  });

  // Without key ids only the signature tells which of them the certificate is of.
  it('counts of two issuers of one name the one that signed it', async () => {
    const [one, two] = ['one', 'two'].map((sub) => {
      const at = join(folder, sub);
      mkdirSync(at);
      const issuer = makeCertificate(at, 'issuer', authority, ['authorityKeyIdentifier=none']);
      return { issuer, leaf: makeCertificate(at, 'leaf', issuer, ['authorityKeyIdentifier=none']) };
    });
    if (one === undefined || two === undefined) throw new Error('two were made');
    const until = Math.floor((Date.now() + 2 * hourMs) / 1000);
    writeFileSync(paths.keyFile, one.leaf.key);
    writeFileSync(paths.certFile, one.leaf.cert + two.issuer.cert + certificateFor(-1, 2, one.issuer.cert));
    expect(await opened().expiry()).toBe(until);
  });

  it('is valid until its first certificate expires, in the metric', async () => {
    const { files, expiry } = opened();
    const until = Math.floor((Date.now() + 2 * hourMs) / 1000);
    serveBehind(chain(certificateFor(-1, 2, intermediate)));
    files.reload();
    expect(await expiry()).toBe(until);
  });

  it('is taken beside expired certificates that clients do not need', async () => {
    const { files, certificates } = opened();
    const needless = [
      certificateFor(-2, -1, intermediate),
      certificateFor(-2, -1, certificate),
      certificateFor(-2, -1, authority.cert),
    ];
    const text = chain(intermediate, ...needless);
    serveBehind(text);
    files.reload();
    expect(certificates).toEqual([text]);
  });
});

// The code alone says nothing of what a client sent, as a header of a proxy.
// "EACCES … Use PEM files" led to the form of the key: in a container nobody looks for its user.
it('files that the user may not read are refused by the file and the user', () => {
  chmodSync(folder, 0o755);
  chmodSync(paths.keyFile, 0);
  // As root every file can be read: the process takes another user once its modules are loaded.
  const program = `
    import { requireTlsFiles } from ${JSON.stringify(join(root, 'src/runtime/tls-files.ts'))};
    if (process.geteuid() === 0) process.seteuid(65532);
    try { requireTlsFiles(${JSON.stringify(paths)}, () => {}); }
    catch (error) { console.log(JSON.stringify([process.geteuid(), error.message])); }`;
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', program]);
  const [user, message] = z.tuple([z.number(), z.string()]).parse(JSON.parse(String(printed)));
  expect(message).toContain(
    `${paths.keyFile} cannot be read by this process, whose user has the id ${user} (EACCES)`,
  );
  expect(message).toContain('files that this user may read');
});

it('a handshake that is no TLS is named so', () => {
  const { files, lines } = opened();
  files.onFailedHandshake?.('127.0.0.1', 'ERR_SSL_WRONG_VERSION_NUMBER');
  files.onFailedHandshake?.('127.0.0.1', 'CERT_HAS_EXPIRED');
  expect(lines.map(([, { cause }]) => cause)).toEqual([
    'no TLS: plain text, or a header of the PROXY protocol',
    undefined,
  ]);
});
