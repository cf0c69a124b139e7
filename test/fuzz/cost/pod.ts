// Takes one body in as a receiver does whose process has nothing else to do, and tells what that took: its packing, its target and the
// file of its bytes are the arguments.
import { readFileSync } from 'node:fs';
import { createBytesInFlight } from '../../../src/ingress/admission.ts';
import { readBody } from '../../../src/ingress/body.ts';
import { createLargeBodies } from '../../../src/ingress/large-bodies/large-bodies.ts';
import { createReadTraces } from '../../../src/ingress/otlp/read.ts';
import { createEncodePush } from '../../../src/ingress/push/encode-anywhere.ts';
import { readPlainHead } from '../../../src/ingress/push/plain-head.ts';
import { Fault } from '../../../src/model/fault.ts';
import { contextWith } from '../../support/trace-source.ts';
import { tokenKey } from './credentials.ts';
import { pushTask } from './encode.ts';
import { bodyLimitsOf, traceLimits } from './limits.ts';
import { packingSchema } from './packing.ts';
import { recipeSchema } from './recipe.ts';
import { requestOf } from './whose.ts';

const [file = '', described = ''] = process.argv.slice(2);
const {
  target,
  packing,
  layout = 'wide',
} = recipeSchema
  .pick({ target: true, packing: true, layout: true })
  .extend({ packing: packingSchema })
  .parse(JSON.parse(described));

let died = '';
const large = createLargeBodies({
  error: (fields) => {
    died = JSON.stringify(fields);
  },
});

const encode = async (body: { bytes: Buffer }): Promise<string> => {
  if (target === 'push') {
    const plainAt = readPlainHead(body.bytes.subarray(0, 65_536))?.pointsAt;
    const result = await createEncodePush(large)(body, { ...pushTask(layout), plainAt });
    return result.kind === 'refused' ? result.reason : 'encoded';
  }
  const encoding = target === 'otlp-json' ? 'json' : 'protobuf';
  const read = createReadTraces(large, [tokenKey], traceLimits.elementsMax);
  await read.tokens(body, encoding);
  const { resolve, ...context } = contextWith({ limits: traceLimits });
  const owner = resolve(undefined);
  const owners = typeof owner === 'string' ? new Map() : new Map([[undefined, owner] as const]);
  await read.encode(body, encoding, { ...context, owners });
  return 'encoded';
};

const take = async (): Promise<string> => {
  const inFlight = createBytesInFlight(2 ** 40, () => {});
  const body = await readBody(requestOf(readFileSync(file), packing.as), bodyLimitsOf(target), inFlight);
  if ('reason' in body) return body.reason;
  try {
    return await encode(body);
  } catch (error) {
    if (error instanceof Fault && error.kind === 'internal') throw error;
    return error instanceof Fault ? error.code : error instanceof Error ? error.name : String(error);
  }
};

const from = process.cpuUsage();
const outcome = await take();
const { user, system } = process.cpuUsage(from);
await large.close();
const peakBytes = process.resourceUsage().maxRSS * 1024;
process.stdout.write(JSON.stringify({ outcome, died, peakBytes, cpuMs: (user + system) / 1000 }));
