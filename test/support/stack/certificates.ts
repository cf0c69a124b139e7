import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A certificate and its key, as PEM files and texts. */
export type Certificate = {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
};

const openssl = (...args: string[]): void => {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
};

const pairOf = (folder: string, name: string): Certificate => {
  const [certFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
};

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Makes an authority of this name for a day, its files in the folder. */
export const makeAuthority = (folder: string, name: string): Certificate => {
  const base = join(folder, name);
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    `${base}.key`,
    '-out',
    `${base}.crt`,
    '-days',
    '1',
    '-subj',
    `/CN=${name}`,
  );
  return pairOf(folder, name);
};

/** Makes a certificate of the authority for localhost and both loopback addresses, its files in the folder. */
export const makeCertificate = (
  folder: string,
  name: string,
  authority: Certificate,
  extensions: readonly string[] = [],
): Certificate => {
  const base = join(folder, name);
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-CA',
    authority.certFile,
    '-CAkey',
    authority.keyFile,
    '-keyout',
    `${base}.key`,
    '-out',
    `${base}.crt`,
    '-days',
    '1',
    '-subj',
    `/CN=${name}`,
    '-addext',
    'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1',
    '-addext',
    'basicConstraints=critical,CA:FALSE',
    ...extensions.flatMap((extension) => ['-addext', extension]),
  );
  return pairOf(folder, name);
};

/** The key and name of one authority in a certificate of another one. */
export const crossSign = (folder: string, own: Certificate, name: string, by: Certificate): string => {
  const file = join(folder, `${name} by another.crt`);
  const names = ['-key', own.keyFile, '-CA', by.certFile, '-CAkey', by.keyFile, '-subj', `/CN=${name}`];
  openssl('req', '-x509', ...names, '-days', '1', '-out', file);
  return readFileSync(file, 'utf8');
};

/** A certificate with other times, in hours from now. Its signature is wrong then: for programs that read it, not for clients. */
export const withTimes = (pem: string, fromHours: number, untilHours: number): string => {
  const times = [fromHours, untilHours].map((hours) => {
    const text = new Date(Date.now() + hours * 3_600_000).toISOString();
    return `${text.slice(2, 19).replaceAll(/[-:T]/g, '')}Z`;
  });
  const bytes = new X509Certificate(pem).raw.toString('latin1');
  const dated = bytes.replace(/\d{12}Z..\d{12}Z/s, times.join('\x17\r'));
  const lines =
    Buffer.from(dated, 'latin1')
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
};
