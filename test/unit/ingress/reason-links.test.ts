import { expect, it } from 'vitest';
import { createReasonLinks } from '../../../src/ingress/reason-links.ts';

it('a message names the page of each of its reasons once, three at most, and none without an address', () => {
  const links = createReasonLinks('https://wiki.example.com/reasons');
  expect(links([])).toBe('');
  expect(links(['a', 'a'])).toBe('; see https://wiki.example.com/reasons#a');
  expect(links(['a', 'b', 'c', 'd']).match(/#\w/g)).toEqual(['#a', '#b', '#c']);
  expect(createReasonLinks(undefined)(['a'])).toBe('');
});
