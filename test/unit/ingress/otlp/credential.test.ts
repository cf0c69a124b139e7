import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { credentialOf } from '../../../../src/ingress/otlp/credential.ts';

const names = { headers: ['x-mon-token'], attributes: [] };

// Node joins the values of a field that came several times.
it.each([
  ['the same token twice is that token', 'abc, abc', 'abc'],
  ['different tokens are none', 'abc, abd', 'abc, abd'],
  ['one token is itself', ' abc ', 'abc'],
])('%s', (_, value, credential) => {
  const request = new IncomingMessage(new Socket());
  request.headers['x-mon-token'] = value;
  expect(credentialOf(request, names)).toBe(credential);
});
