// Takes one body as an idle receiver does, and reports the cost: its packing, its target and the file of its bytes are
// the arguments.
import { existsSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createBytesInFlight } from '../../../src/ingress/http/admission.ts';
import { type Body, readBody } from '../../../src/ingress/http/body.ts';
import { createLargeBodies } from '../../../src/ingress/large-bodies/large-bodies.ts';
import { createReadItems } from '../../../src/ingress/otlp/read.ts';
import { createEncodePush } from '../../../src/ingress/push/encode-anywhere.ts';
import { SeriesGate } from '../../../src/ingress/series/series-gate.ts';
import { Fault } from '../../../src/model/fault.ts';
import { encodedLength as pushLength } from '../../../src/rules/points/encoded-points.ts';
import { encodedLength } from '../../../src/wire/otlp/types.ts';
import { contextWith } from '../../support/otlp/trace-source.ts';
import { reservedOf } from './bounds.ts';
import { tokenKey } from './credentials.ts';
import { pushTask } from './encode.ts';
import { bodyLimitsOf, otlpLimits } from './limits.ts';
import { otlpTargetOf } from './otlp-targets.ts';
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

const status = '/proc/self/status';

let reservedBytes = 0;
const loop = monitorEventLoopDelay({ resolution: 5 });

let died = '';
const large = createLargeBodies({
  error: (fields) => {
    died = JSON.stringify(fields);
  },
});

/** By then a sender has given up. */
const deadlineAt = performance.now() + 600_000;
const encodePush = createEncodePush(large);
const noSeries = new SeriesGate({
  now: performance.now.bind(performance),
  onFull: () => undefined,
  onHeld: () => undefined,
});
const encode = async (body: Body): Promise<string> => {
  if (target === 'push') {
    const result = await encodePush(body, pushTask(layout), deadlineAt);
    if (result.kind === 'refused') return result.reason;
    body.reserve(reservedOf(0, pushLength(result.encoded)));
    return result.kind;
  }
  const { pipeline, encoding } = otlpTargetOf(target) ?? { pipeline: 'traces', encoding: 'protobuf' };
  const limits = otlpLimits(pipeline);
  const items = createReadItems(pipeline, large, [tokenKey], limits.elementsMax, noSeries);
  await items.tokens(body, encoding, deadlineAt);
  const { resolve, admitsSeries: _, ...context } = contextWith({ limits });
  const owner = resolve(undefined);
  const owners = typeof owner === 'string' ? new Map() : new Map([[undefined, owner] as const]);
  const { encoded } = await items.encode(
    body,
    encoding,
    { ...context, owners, seriesMax: new Map() },
    deadlineAt,
  );
  body.reserve(reservedOf(0, encodedLength(encoded)));
  return 'encoded';
};

const take = async (): Promise<string> => {
  const inFlight = createBytesInFlight(2 ** 40, (held) => {
    reservedBytes = Math.max(reservedBytes, held);
  });
  const request = requestOf(readFileSync(file), packing.as);
  loop.enable();
  const body = await readBody(request, bodyLimitsOf(target), inFlight);
  if ('reason' in body) return body.reason;
  body.reserve(reservedOf(body.bytes.length, 0));
  try {
    return await encode(body);
  } catch (error) {
    if (error instanceof Fault && error.kind === 'internal') throw error;
    return error instanceof Fault ? error.code : error instanceof Error ? error.name : String(error);
  }
};

const outcome = await take();
loop.disable();
await large.close();
/** Of this program alone: the kernel's figures for a process's children and itself begin with those of its parent. */
const peakBytes = (): number => {
  const found = /^VmHWM:\s*(\d+) kB$/m.exec(existsSync(status) ? readFileSync(status, 'utf8') : '');
  return 1024 * (found === null ? process.resourceUsage().maxRSS : Number(found[1]));
};
process.stdout.write(
  JSON.stringify({ outcome, died, reservedBytes, peakBytes: peakBytes(), holdMs: loop.max / 1e6 }),
);
