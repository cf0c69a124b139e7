import { readFileSync } from 'node:fs';
import { errorText } from '../model/fault.ts';
import { retry } from '../runtime/back-off.ts';
import { certificatesIn } from '../runtime/certificates.ts';
import { type NatsTarget, settingFault } from './settings.ts';

/** A file is away for a moment while it is replaced in two steps. */
const replacedMsMax = 1_500;
const lookAgain = { firstMs: 100, mostMs: 100 };

const requireFile = async (name: string, file: string, check?: (text: string) => unknown): Promise<void> => {
  const startedAt = performance.now();
  let text: string | undefined;
  const look = (): void => {
    text = undefined;
    text = readFileSync(file, 'utf8');
    check?.(text);
  };
  await retry(async () => look(), {
    ...lookAgain,
    onFailure: (error) => {
      if (performance.now() - startedAt < replacedMsMax) return;
      if (text !== undefined) throw settingFault(name, errorText(error), 'Use a PEM file with certificates');
      throw settingFault(
        name,
        `the file cannot be read (${errorText(error)})`,
        'Name a file that this process may read, or unset it',
      );
    },
  });
};

/**
 * Throws a permanent Fault `config_invalid` where a file that the connection to NATS needs cannot be read, or has no authorities, for 1.5 s. That of the
 * authorities is read only with TLS, which the first address decides on.
 */
export const requireNatsFiles = async ({ url, credentialsFile, caFile }: NatsTarget): Promise<void> => {
  const isTls = new URL(url.split(',')[0] ?? '').protocol === 'tls:';
  if (credentialsFile !== undefined) await requireFile('TIDEMARK_NATS_CREDENTIALS_FILE', credentialsFile);
  if (caFile !== undefined && isTls)
    await requireFile('TIDEMARK_NATS_CA_FILE', caFile, (text) => certificatesIn(text, 'authorities'));
};
