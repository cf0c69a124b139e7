import { createPrivateKey, X509Certificate } from 'node:crypto';
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

/** What clients are shown: the certificate, and when it and its chain are valid, in ms. */
export type ServedCertificate = {
  readonly subject: string;
  readonly serial: string;
  readonly fromMs: number;
  readonly untilMs: number;
};

const fromMsOf = ({ validFrom }: X509Certificate): number => Date.parse(validFrom);
const untilMsOf = ({ validTo }: X509Certificate): number => Date.parse(validTo);
const isSelfIssued = (certificate: X509Certificate): boolean => certificate.checkIssued(certificate);

/**
 * The certificate and its issuers among the others, as far as they are there; of several with one name and key the one that is valid
 * longest. A root is not among them: clients use their own copy.
 */
const chainOf = (first: X509Certificate, others: readonly X509Certificate[]): readonly X509Certificate[] => {
  const chain = [first];
  let left = others.filter((other) => !isSelfIssued(other));
  for (let last: X509Certificate | undefined = first; last !== undefined && !isSelfIssued(last); ) {
    const child: X509Certificate = last;
    const issuers = left.filter((other) => child.checkIssued(other));
    last = issuers.toSorted((one, other) => untilMsOf(other) - untilMsOf(one))[0];
    left = left.filter((other) => !issuers.includes(other));
    if (last !== undefined) chain.push(last);
  }
  return chain;
};

/** The certificate of a chain and its key, both PEM. Throws an Error where they do not belong together, or a block cannot be read. */
export const servedCertificate = (chainPem: string, keyPem: string): ServedCertificate => {
  const [first, ...others] = certificatesIn(chainPem, 'certificate chain');
  // A TLS context takes a key of another type beside a certificate, and then no handshake succeeds.
  if (!first.checkPrivateKey(createPrivateKey(keyPem)))
    throw new Error('the key does not belong to the certificate, which has to be the first in its file');
  const chain = chainOf(first, others);
  return {
    subject: first.subject.replaceAll('\n', ', '),
    serial: first.serialNumber,
    fromMs: Math.max(...chain.map(fromMsOf)),
    untilMs: Math.min(...chain.map(untilMsOf)),
  };
};
