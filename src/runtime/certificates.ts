import { createPrivateKey, X509Certificate } from 'node:crypto';
import { getCACertificates } from 'node:tls';
import { errorText } from '../model/fault.ts';

/** The line that begins a block, as OpenSSL reads it; any other line between blocks is a comment. */
const blockBegin = /^(?=\uFEFF?-----BEGIN [^\r\n]*-----[ \t]*$)/m;

/** Whether a copy of the file was cut within the line that begins a certificate. */
const isCut = (pem: string): boolean => {
  const last = pem.slice(pem.lastIndexOf('\n') + 1);
  return last.startsWith('-----B') && '-----BEGIN CERTIFICATE-----'.startsWith(last);
};

/**
 * The certificates of a PEM text in their order, one at least; `of` names them in a fault. Throws an Error where a block is malformed or
 * truncated, or none is a certificate: a TLS context is made without it, and then refuses its peers.
 */
export const certificatesIn = (pem: string, of: string): readonly [X509Certificate, ...X509Certificate[]] => {
  if (isCut(pem)) throw new Error(`the file of the ${of} ends within the first line of a block`);
  // A block of another label, as a key, is skipped by TLS too.
  const own = pem
    .split(blockBegin)
    .filter((text) => /^\uFEFF?-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[ \t]*$/m.test(text));
  const [first, ...others] = own.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (error) {
      throw new Error(`certificate ${index + 1} of the ${of} cannot be read (${errorText(error)})`);
    }
  });
  if (first === undefined) throw new Error(`the file of the ${of} has no certificate`);
  return [first, ...others];
};

/** From when until when, in ms. */
export type Validity = { readonly fromMs: number; readonly untilMs: number };

/** What clients are shown: the certificate, when it is valid itself, and when it and its chain are. */
export type ServedCertificate = {
  readonly subject: string;
  readonly serial: string;
  readonly own: Validity;
  readonly chain: Validity;
};

const fromMsOf = ({ validFrom }: X509Certificate): number => Date.parse(validFrom);
const untilMsOf = ({ validTo }: X509Certificate): number => Date.parse(validTo);
const isSelfIssued = (certificate: X509Certificate): boolean => certificate.checkIssued(certificate);

const validityOf = (certificates: readonly X509Certificate[]): Validity => ({
  fromMs: Math.max(...certificates.map(fromMsOf)),
  untilMs: Math.min(...certificates.map(untilMsOf)),
});

/** Issuers of one name have several keys, as after a renewal: without key ids only the signature tells them apart. */
const isIssuedBy = (child: X509Certificate, issuer: X509Certificate): boolean =>
  child.checkIssued(issuer) && child.verify(issuer.publicKey);

const isOneAuthority = (one: X509Certificate, other: X509Certificate): boolean =>
  one.subject === other.subject && one.publicKey.equals(other.publicKey);

/** The roots that clients are likely to have: those in the file, and those of this system. */
const rootsBeside = (others: readonly X509Certificate[]): readonly X509Certificate[] =>
  [...others, ...getCACertificates('default').map((pem) => new X509Certificate(pem))].filter(isSelfIssued);

/**
 * The certificate and its issuers among the others, as far as they are there; of several with one name and key the one that is valid
 * longest. A root ends it, and so does a certificate of a root by another root, as an older one: clients use their own copy of the root.
 */
const chainOf = (first: X509Certificate, others: readonly X509Certificate[]): readonly X509Certificate[] => {
  const chain = [first];
  let left = others.filter((other) => !isSelfIssued(other));
  if (left.length === 0 || isSelfIssued(first)) return chain;
  const roots = rootsBeside(others);
  for (let last = first; ; ) {
    const child = last;
    const issuers = left.filter((other) => isIssuedBy(child, other));
    const [issuer] = issuers.toSorted((one, other) => untilMsOf(other) - untilMsOf(one));
    if (issuer === undefined || roots.some((root) => isOneAuthority(issuer, root))) break;
    left = left.filter((other) => !issuers.includes(other));
    chain.push(issuer);
    last = issuer;
  }
  return chain;
};

/** The certificate of a chain and its key, both PEM. Throws an Error where they do not belong together, or a block cannot be read. */
export const servedCertificate = (chainPem: string, keyPem: string): ServedCertificate => {
  const [first, ...others] = certificatesIn(chainPem, 'certificate chain');
  // A TLS context takes a key of another type beside a certificate, and then no handshake succeeds.
  if (!first.checkPrivateKey(createPrivateKey(keyPem)))
    throw new Error('the key does not belong to the certificate, which has to be the first in its file');
  return {
    subject: first.subject.replaceAll('\n', ', '),
    serial: first.serialNumber,
    own: validityOf([first]),
    chain: validityOf(chainOf(first, others)),
  };
};
