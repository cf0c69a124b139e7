import { hasForm } from '../model/text-forms.ts';
import { isHeaderValue } from './setting-kinds.ts';
import { type Settings, settingFault } from './settings.ts';

/** Host ids by business; those of business 0 get the files of every business. */
export type Hosts = ReadonlyMap<number, readonly number[]>;

/** Reads `<biz>:<host_id>,…`. Throws a permanent Fault `config_invalid`. */
export const parseHosts = (text: string | undefined): Hosts => {
  const hosts = new Map<number, number[]>();
  for (const pair of (text ?? '').split(',')) {
    const match = /^\s*(-?\d{1,10}):(\d{1,15})\s*$/.exec(pair);
    if (match === null) {
      throw settingFault(
        'environment variable TIDEMARK_NODE_MANAGEMENT_HOSTS',
        `the value ${JSON.stringify(pair)} is not <biz>:<host_id>`,
        'Set at least one host for the node management API, like 0:101 or 0:101,2:205',
      );
    }
    const bizId = Number(match[1]);
    hosts.set(bizId, [...(hosts.get(bizId) ?? []), Number(match[2])]);
  }
  return hosts;
};

/** A timer with a longer time fires at once. */
const timeoutMsMax = 2_147_483_647;

/** Throws a permanent Fault `config_invalid` for a timeout below a millisecond, and for one that no timer has. */
export const requireTimeout = (timeoutMs: number): void => {
  if (timeoutMs >= 1 && timeoutMs <= timeoutMsMax) return;
  throw settingFault(
    'environment variable TIDEMARK_NODE_MANAGEMENT_TIMEOUT_MS',
    `the value ${timeoutMs} is not a timeout`,
    `Set milliseconds, from 1 to ${timeoutMsMax}`,
  );
};

/** The platform prefix becomes a key of YAML and a part of file names. Throws a permanent Fault `config_invalid` for another text. */
export const requirePrefix = (prefix: string | undefined): void => {
  if (prefix === undefined || hasForm(/^[A-Za-z][\w-]{0,62}$/, prefix)) return;
  throw settingFault(
    'environment variable TIDEMARK_NODE_MANAGEMENT_PREFIX',
    `the value ${JSON.stringify(prefix)} is not a prefix`,
    'Set up to 63 letters, digits, _ and -, beginning with a letter',
  );
};

/** The token in the text of its file. Throws a permanent Fault `config_invalid`, without it, where no header may have it. */
export const tokenInFile = (text: string): string => {
  const token = text.trim();
  if (isHeaderValue(token)) return token;
  throw settingFault(
    'TIDEMARK_NODE_MANAGEMENT_TOKEN_FILE',
    'the file holds a character that no header may have, such as a line feed within the text',
    'Write the token alone into it',
  );
};

/** Throws a permanent Fault `config_invalid` for settings with which metadata does not start; hosts and timeout count with an address. */
export const requireNodeManagement = ({
  url,
  hosts,
  timeoutMs,
  prefix,
}: Settings['nodeManagement']): void => {
  requirePrefix(prefix);
  if (url === undefined) return;
  requireTimeout(timeoutMs);
  parseHosts(hosts);
};
