import { describe, expect, it } from 'vitest';
import { isTrusted } from '../../../src/http/client-address.ts';
import { localPeersOf } from '../../../src/runtime/local-peers.ts';

/** As the kernel shows it in a container on the network 172.18.0.0/16. */
const routes = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010012AC\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t000012AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
`;
const [heading = ''] = routes.split('\n');

/** The peers of a setting, and the warnings about it. */
const found = (text: string, readRoutes = (): string => routes) => {
  const warnings: string[] = [];
  return { peers: localPeersOf(text, (warning) => warnings.push(warning), readRoutes), warnings };
};

describe('the peers that count as this machine', () => {
  it('are the gateway of the default route, and no other address of its network', () => {
    const { peers, warnings } = found('gateway');
    const addresses = ['172.18.0.1', '::ffff:172.18.0.1', '172.18.0.2', '127.0.0.1', '0.0.0.0'];
    expect(addresses.filter((address) => isTrusted(peers, address))).toEqual(addresses.slice(0, 2));
    expect(warnings).toEqual([]);
  });

  it('are addresses that the setting names', () => {
    const { peers } = found('10.89.0.1, fd00::1, gateway');
    const addresses = ['10.89.0.1', 'fd00::1', '172.18.0.1', '10.89.0.2'];
    expect(addresses.filter((address) => isTrusted(peers, address))).toEqual(addresses.slice(0, 3));
  });

  it('are none without the setting', () => {
    const { peers } = found('');
    expect(['127.0.0.1', '::1', '172.18.0.1'].filter((address) => isTrusted(peers, address))).toEqual([]);
  });

  it.each(['172.18.0.0/16', '0.0.0.0/0', 'metadata', 'gateways', '10.0.0.1/32'])('are never %s', (text) => {
    expect(() => found(text)).toThrow(`TIDEMARK_CONSOLE_LOCAL_PEERS: ${text} is not an IP address`);
  });

  // A container of an internal network, of IPv6 alone, or of none: metadata ended at its start there, and ingress waited for it.
  it.each<[string, () => string, string]>([
    ['without a route', () => heading, 'there is no default route over IPv4'],
    [
      'without its gateway',
      () => `${heading}\neth0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n`,
      'there is no default route over IPv4',
    ],
    [
      'whose routes cannot be read',
      () => {
        throw new Error('ENOENT');
      },
      'the routes cannot be read: ENOENT',
    ],
  ])('are those that are named beside a gateway %s, with a warning', (_, readRoutes, why) => {
    const { peers, warnings } = found('gateway, 10.89.0.1', readRoutes);
    const addresses = ['10.89.0.1', '0.0.0.0', '127.0.0.1', '172.18.0.1'];
    expect(addresses.filter((address) => isTrusted(peers, address))).toEqual(['10.89.0.1']);
    expect(warnings).toEqual([
      `TIDEMARK_CONSOLE_LOCAL_PEERS: gateway counts as no address: ${why}. Write the address from which requests come`,
    ]);
  });
});
