import { settingFault } from '../config/settings.ts';
import { parseTrustedProxies, type TrustedProxies } from '../http/client-address.ts';

/** The trusted proxies of a setting. Throws a permanent Fault that names it. */
export const trustedProxiesOf = (setting: string, text: string): TrustedProxies => {
  const parsed = parseTrustedProxies(text);
  if ('proxies' in parsed) return parsed.proxies;
  throw settingFault(
    setting,
    `${parsed.wrong} is not an IP address or a network`,
    'Write addresses and networks like 10.0.0.0/8, 192.168.1.7',
  );
};
