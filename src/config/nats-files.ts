import { readFileSync } from 'node:fs';
import { errorText } from '../model/fault.ts';
import { type NatsTarget, settingFault } from './settings.ts';

/** Throws a permanent Fault `config_invalid` where a file that the connection to NATS needs cannot be read. */
export const requireNatsFiles = ({ credentialsFile, caFile }: Omit<NatsTarget, 'url'>): void => {
  const files = { TIDEMARK_NATS_CREDENTIALS_FILE: credentialsFile, TIDEMARK_NATS_CA_FILE: caFile };
  for (const [name, file] of Object.entries(files)) {
    if (file === undefined) continue;
    try {
      readFileSync(file);
    } catch (error) {
      throw settingFault(
        name,
        `the file cannot be read (${errorText(error)})`,
        'Name a file that this process may read, or unset it',
      );
    }
  }
};
