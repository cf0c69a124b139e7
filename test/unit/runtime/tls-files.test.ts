import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openTlsFiles, type TlsFiles, type TlsPaths } from '../../../src/runtime/tls-files.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { metersIn } from '../../../src/telemetry/meters.ts';
import { tlsMetrics } from '../../../src/telemetry/shared-metrics.ts';
import { type Certificate, makeAuthority, makeCertificate } from '../../support/stack/certificates.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

let authority: Certificate;
let other: Certificate;
let paths: TlsPaths;
let caFile: string;

beforeEach(async () => {
  const folder = await tempFolder();
  authority = makeAuthority(folder, 'authority');
  other = makeAuthority(folder, 'other');
  const { certFile, keyFile } = makeCertificate(folder, 'server', authority);
  caFile = join(folder, 'clients.crt');
  writeFileSync(caFile, authority.cert);
  paths = { settings: 'TIDEMARK_INGRESS_TLS', certFile, keyFile, clientCaFile: caFile };
});

const opened = (): { files: TlsFiles; refused: () => Promise<number | undefined>; loaded: string[] } => {
  const metrics = tlsMetrics('ingress', metersIn(new Registry()));
  const log = createLog('ingress', 'silent');
  const files = openTlsFiles(paths, 0, metrics, log);
  onTestFinished(() => files.stop());
  const loaded: string[] = [];
  files.onChange(({ ca }) => loaded.push(String(ca)));
  return { files, loaded, refused: async () => (await metrics.tlsStale.get()).values[0]?.value };
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
});
