import { describe, expect, it } from 'vitest';
import { whatLinkNeeds } from '../../../src/cli/console.ts';

const link = (origin: string) => `${origin}/console/login#code`;

// The link of a container was refused as transport_open, and nothing had said so.
describe('a link into the console', () => {
  it.each<[what: string, url: string, localPeers: string | undefined, isHere: boolean]>([
    ['of this machine', link('http://127.0.0.1:10300'), undefined, true],
    ['of this machine by name', link('http://localhost:10300'), undefined, true],
    ['over TLS', link('https://tidemark.example'), undefined, false],
    ['of a container whose gateway is a local peer', link('http://127.0.0.1:10300'), 'gateway', false],
  ])('%s needs nothing', (_, url, localPeers, isHere) => {
    expect(whatLinkNeeds(url, localPeers, isHere)).toBeUndefined();
  });

  it('of a container names the ways to log in', () => {
    const needs = whatLinkNeeds(link('http://127.0.0.1:10300'), undefined, false);
    expect(needs).toMatch(/port-forward.*TLS.*127\.0\.0\.1 alone set TIDEMARK_CONSOLE_LOCAL_PEERS=gateway/);
  });

  it.each([undefined, 'gateway'])('of another machine in plain text does not log in: %s', (localPeers) => {
    const needs = whatLinkNeeds(link('http://metadata:10300'), localPeers, false);
    expect(needs).toMatch(/only at 127\.0\.0\.1 of the machine of metadata/);
  });
});
