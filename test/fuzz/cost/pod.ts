// Takes one body in as a receiver does whose process has nothing else to do, and tells what that took: its packing, its target and the
// file of its bytes are the arguments.
import { existsSync, readFileSync } from 'node:fs';
import { createBytesInFlight } from '../../../src/ingress/admission.ts';
import { readBody } from '../../../src/ingress/body.ts';
import { createLargeBodies, type LargeBody } from '../../../src/ingress/large-bodies/large-bodies.ts';
import { createReadTraces, type ReadContext } from '../../../src/ingress/otlp/read.ts';
import type { OtlpEncoding } from '../../../src/ingress/otlp/reply.ts';
import type { PushTask } from '../../../src/ingress/push/encode.ts';
import { createEncodePush } from '../../../src/ingress/push/encode-anywhere.ts';
import { readPlainHead } from '../../../src/ingress/push/plain-head.ts';
import { Fault } from '../../../src/model/fault.ts';
import { contextWith } from '../../support/trace-source.ts';
import { tokenKey } from './credentials.ts';
import { pushTask } from './encode.ts';
import { bodyLimitsOf, traceLimits } from './limits.ts';
import { packingSchema } from './packing.ts';
import { recipeSchema } from './recipe.ts';
import { chunkBytes, requestOf } from './whose.ts';

const [file = '', described = ''] = process.argv.slice(2);
const {
  target,
  packing,
  layout = 'wide',
} = recipeSchema
  .pick({ target: true, packing: true, layout: true })
  .extend({ packing: packingSchema })
  .parse(JSON.parse(described));

const status = '/proc/self/status';

let died = '';
const large = createLargeBodies({
  error: (fields) => {
    died = JSON.stringify(fields);
  },
});

/** By then a sender has given up. */
const deadlineAt = performance.now() + 600_000;
const encodePush: (body: LargeBody, task: PushTask, deadlineAt: number) => Promise<{ kind: string }> =
  createEncodePush(large);
const traces: {
  tokens(body: LargeBody, encoding: OtlpEncoding, deadlineAt: number): Promise<unknown>;
  encode(body: LargeBody, encoding: OtlpEncoding, context: ReadContext, deadlineAt: number): Promise<unknown>;
} = createReadTraces(large, [tokenKey], traceLimits.elementsMax);

const encode = async (body: LargeBody): Promise<string> => {
  if (target === 'push') {
    const plainAt = readPlainHead(body.bytes.subarray(0, chunkBytes))?.pointsAt;
    const result = await encodePush(body, { ...pushTask(layout), plainAt }, deadlineAt);
    return 'reason' in result ? String(result.reason) : result.kind;
  }
  const encoding = target === 'otlp-json' ? 'json' : 'protobuf';
  await traces.tokens(body, encoding, deadlineAt);
  const { resolve, ...context } = contextWith({ limits: traceLimits });
  const owner = resolve(undefined);
  const owners = typeof owner === 'string' ? new Map() : new Map([[undefined, owner] as const]);
  await traces.encode(body, encoding, { ...context, owners }, deadlineAt);
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
/** Of this program alone: what the kernel tells of a process's children and itself begins with what its parent held. */
const peakBytes = (): number => {
  const found = /^VmHWM:\s*(\d+) kB$/m.exec(existsSync(status) ? readFileSync(status, 'utf8') : '');
  return 1024 * (found === null ? process.resourceUsage().maxRSS : Number(found[1]));
};
process.stdout.write(
  JSON.stringify({ outcome, died, peakBytes: peakBytes(), cpuMs: (user + system) / 1000 }),
);
