import { kinds, settingDefinitions } from '../../../src/config/settings.ts';

/** Port 0 everywhere: `up` takes free ones. */
export const anyPorts: Readonly<Record<string, string>> = Object.fromEntries(
  settingDefinitions
    .filter(({ kind }) => kind === kinds.port || kind === kinds.portOrOff)
    .map(({ env }) => [env, '0']),
);
