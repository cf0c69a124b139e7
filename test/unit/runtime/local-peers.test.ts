import { describe, expect, it } from 'vitest';
import { isTrusted } from '../../../src/http/client-address.ts';
import { gatewaysIn, localPeersOf } from '../../../src/runtime/local-peers.ts';

/** As the kernel shows it in a container on the network 172.18.0.0/16. */
const routes = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010012AC\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t000012AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
`;
const [heading = ''] = routes.split('\n');

describe('the peers that count as this machine', () => {
  it('are the gateway of the default route, and no other address of its network', () => {
    const peers = localPeersOf('gateway', () => routes);
    const addresses = ['172.18.0.1', '::ffff:172.18.0.1', '172.18.0.2', '127.0.0.1', '0.0.0.0'];
    expect(addresses.filter((address) => isTrusted(peers, address))).toEqual(addresses.slice(0, 2));
  });

  it('are addresses that the setting names', () => {
    const peers = localPeersOf('10.89.0.1, fd00::1, gateway', () => routes);
    const addresses = ['10.89.0.1', 'fd00::1', '172.18.0.1', '10.89.0.2'];
    expect(addresses.filter((address) => isTrusted(peers, address))).toEqual(addresses.slice(0, 3));
  });

  it('are none without the setting', () => {
    const peers = localPeersOf('');
    expect(['127.0.0.1', '::1', '172.18.0.1'].filter((address) => isTrusted(peers, address))).toEqual([]);
  });

  it.each(['172.18.0.0/16', '0.0.0.0/0', 'metadata', 'gateways', '10.0.0.1/32'])('are never %s', (text) => {
    expect(() => localPeersOf(text, () => routes)).toThrow(
      `TIDEMARK_CONSOLE_LOCAL_PEERS: ${text} is not an IP address`,
    );
  });

  // A container of an internal network, or of none: it counted as no peer, without a word.
  it.each([heading, `${heading}\neth0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n`])(
    'are not named by a gateway that is not there',
    (without) => {
      expect(gatewaysIn(without)).toEqual([]);
      expect(() => localPeersOf('gateway', () => without)).toThrow(
        'TIDEMARK_CONSOLE_LOCAL_PEERS: gateway: there is no default route over IPv4',
      );
    },
  );
});
