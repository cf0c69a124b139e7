import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { createBytesInFlight } from '../../../src/ingress/http/admission.ts';
import { readBody, type SeeBody } from '../../../src/ingress/http/body.ts';
import { otlpSignals } from '../../../src/ingress/otlp/signals.ts';
import { problemWithoutPair } from '../../../src/ingress/push/decode.ts';
import { HeadWatch } from '../../../src/ingress/push/head-watch.ts';
import { Refused } from '../../../src/ingress/refused.ts';
import { TooManyElements, TooManyTokens } from '../../../src/wire/otlp/types.ts';
import { bodyLimitsOf, pushLimits } from './limits.ts';
import { type OtlpTarget, otlpTargetOf } from './otlp-targets.ts';
import type { Packing } from './packing.ts';
import type { TargetName } from './recipe.ts';

// The work of a receiver on a body without a valid credential: it is inflated, and scanned for its credential.

/** As much as a socket gives at once. */
export const chunkBytes = 65_536;

/** A request that brings this body, and has arrived. */
export const requestOf = (wire: Buffer, encoding: Packing['as']): IncomingMessage => {
  const request = new IncomingMessage(new Socket());
  request.headers['content-encoding'] = encoding;
  for (let at = 0; at < wire.length; at += chunkBytes) request.push(wire.subarray(at, at + chunkBytes));
  request.push(null);
  return request;
};

const seeAll: SeeBody = () => true;

const read = (wire: Buffer, encoding: Packing['as'], target: TargetName, see: SeeBody) =>
  readBody(
    requestOf(wire, encoding),
    bodyLimitsOf(target),
    createBytesInFlight(2 ** 30, () => {}),
    { see },
  );

const tokensIn = (bytes: Buffer, { pipeline, encoding }: OtlpTarget): string => {
  const { collectTokens } = otlpSignals[pipeline].readers[encoding];
  try {
    return collectTokens(bytes).some((token) => token !== undefined) ? 'tokens' : 'no token';
  } catch (error) {
    if (error instanceof TooManyTokens || error instanceof TooManyElements) return error.name;
    throw error;
  }
};

const unauthorized = (body: Buffer | undefined, watch: HeadWatch): string =>
  watch.pair === undefined
    ? problemWithoutPair(body, watch.scan, pushLimits.elementsMax).reason
    : 'unauthorized';

/** Does that, up to the refusal of the unknown sender; returns the result. */
export const whose = async (wire: Buffer, encoding: Packing['as'], target: TargetName): Promise<string> => {
  const watch = new HeadWatch(() => Promise.reject(new Refused('unauthorized')), pushLimits.elementsMax);
  const see: SeeBody = target === 'push' ? (piece) => watch.see(piece) : seeAll;
  const body = await read(wire, encoding, target, see);
  if ('reason' in body && (target !== 'push' || body.reason !== 'unwanted')) return body.reason;
  const bytes = 'reason' in body ? undefined : body.bytes;
  if (target === 'push') return unauthorized(bytes, watch);
  const otlp = otlpTargetOf(target);
  return otlp === undefined || bytes === undefined ? 'unpacked' : tokensIn(bytes, otlp);
};
