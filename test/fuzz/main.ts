// Fuzzes every decoder: `make fuzz SEED=1 COUNT=100000 [TARGET=otlp-json]`. Prints the results; ends non-zero after a finding.
// With MODE=cost it searches for bodies that cost too much (cost/main.ts).
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { growthMax, measureAll } from './linear.ts';
import { writeFinding } from './regressions.ts';
import type { Target } from './target.ts';
import { targets } from './targets.ts';

const settings = z
  .object({
    SEED: z.coerce.number().int().default(20_261_121),
    COUNT: z.coerce.number().int().nonnegative().default(100_000),
    TARGET: z.string().default(''),
  })
  .parse({
    SEED: process.env['SEED'] || undefined,
    COUNT: process.env['COUNT'] || undefined,
    TARGET: process.env['TARGET'],
  });

const reportSchema = z.object({
  cases: z.number(),
  outcomes: z.array(z.tuple([z.string(), z.number()])),
  findings: z.array(z.object({ bytes: z.base64(), why: z.string() })),
  cpuSeconds: z.number(),
  heapGrowth: z.number().optional(),
});

/** A case ends within milliseconds; one that has not after so long never will. */
const stuckMs = 120_000;

const run = (target: Target, count: number): Promise<z.infer<typeof reportSchema>> =>
  new Promise((resolve, reject) => {
    const shared = new SharedArrayBuffer(4);
    const progress = new Int32Array(shared);
    const workerData = { target: target.name, seed: settings.SEED, count, shared };
    const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData });
    let before = -1;
    const watch = setInterval(() => {
      const now = Atomics.load(progress, 0);
      if (now === before) {
        const why = `case ${now} of seed ${settings.SEED} has not ended after ${stuckMs / 1000} s`;
        const findings = [{ bytes: '', why }];
        void worker.terminate();
        resolve({ cases: now, outcomes: [], findings, cpuSeconds: 0 });
      }
      before = now;
    }, stuckMs);
    worker.on('message', (message) => resolve(reportSchema.parse(message)));
    worker.on('error', reject);
    worker.on('exit', () => clearInterval(watch));
  });

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const folder = join(tmpdir(), 'tidemark-fuzz');

const searchWrongResults = async (): Promise<void> => {
  const chosen = targets.filter(({ target }) => target.name.includes(settings.TARGET));
  const shares = chosen.reduce((sum, { share }) => sum + share, 0);
  let total = 0;
  let found = 0;
  for (const { target, share } of chosen) {
    const report = await run(target, Math.ceil((settings.COUNT * share) / shares));
    total += report.cases;
    found += report.findings.length;
    const outcomes = report.outcomes.map(([outcome, cases]) => `${outcome} ${cases}`).join(', ');
    const held = report.heapGrowth === undefined ? '' : `, ${Math.round(report.heapGrowth / 1024)} KiB held`;
    print(
      `${target.name}: seed ${settings.SEED}, ${report.cases} cases (${outcomes}), ${report.cpuSeconds.toFixed(1)} s of CPU${held}, ${report.findings.length} findings`,
    );
    for (const { bytes, why } of report.findings) {
      const finding = { target: target.name, bytes: Buffer.from(bytes, 'base64'), why };
      print(`  ${writeFinding(folder, finding, target)}: ${why}`);
    }
  }

  if (settings.TARGET === '') {
    for (const { name, perByte, growth } of measureAll()) {
      const [small = 0, large = 0] = perByte;
      const isLinear = growth <= growthMax;
      if (!isLinear) found++;
      print(
        `${isLinear ? 'linear' : 'NOT LINEAR'}: ${name}: ${small.toFixed(1)} ns a byte, ${large.toFixed(1)} at eight times the size (× ${growth.toFixed(2)})`,
      );
    }
  }
  print(`total: seed ${settings.SEED}, ${total} cases, ${found} findings`);
  process.exitCode = found === 0 ? 0 : 1;
};

const mode = z.enum(['', 'cost']).parse(process.env['MODE'] ?? '');
if (mode === 'cost') await import('./cost/main.ts');
else await searchWrongResults();
