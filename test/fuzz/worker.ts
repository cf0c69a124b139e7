// Fuzzes one decoder in a separate thread, so that a case that never ends can be detected and ended from outside.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { fuzz } from './driver.ts';
import { targets } from './targets.ts';

const data = z.object({
  target: z.string(),
  seed: z.number(),
  count: z.number(),
  shared: z.instanceof(SharedArrayBuffer),
});

setFlagsFromString('--expose-gc');
const gc: unknown = runInNewContext('gc');

const { target, seed, count, shared } = data.parse(workerData);
const progress = new Int32Array(shared);
const chosen = targets.find(({ target: { name } }) => name === target)?.target;
if (chosen === undefined) throw new Error(`there is no target ${target}`);
const report = await fuzz(chosen, {
  seed,
  count,
  onCase: (index) => Atomics.store(progress, 0, index + 1),
  collectGarbage: typeof gc === 'function' ? () => void gc() : undefined,
});
parentPort?.postMessage({
  ...report,
  outcomes: [...report.outcomes],
  findings: report.findings.map(({ bytes, why }) => ({ bytes: bytes.toString('base64'), why })),
});
