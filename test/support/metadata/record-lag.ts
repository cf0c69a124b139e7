import { setTimeout as delay } from 'node:timers/promises';
import { runLoad } from '../../../bench/load.ts';
import { startStack } from '../stack/stack.ts';

// Records the metrics for the scaler of transfer while one worker, paused for most of the time, gets a step and bursts
// of points, and until it has stored all of them. Prints JSON for test/support/deploy/lag-of-a-stack.json; takes about
// five minutes: node test/support/metadata/record-lag.ts > test/support/deploy/lag-of-a-stack.json
const sampleSeconds = 5;
const pointsPerBody = 1000;

/** Of each second the worker runs so long: a machine on which others have the processor. */
const runsMs = 200;

// The ack wait is longer than a write takes here, so that no message comes twice.
const stack = await startStack({ ackWaitSeconds: 30 });
const samples: [seconds: number, oldestAgeSeconds: number, bytes: number][] = [];
const startedAt = performance.now();
const secondsNow = (): number => Math.round((performance.now() - startedAt) / 1000);

/** The greatest value of a series, or the sum of them, over METRICS and TRACES. */
const readings = (text: string, name: string): number[] =>
  [...text.matchAll(new RegExp(`^${name}\\{[^}]*stream="(?:METRICS|TRACES)"[^}]*\\} (\\S+)$`, 'gm'))].map(
    ([, value]) => Number(value),
  );

const sample = async (): Promise<void> => {
  const text = await stack.metadata.metrics();
  const age = Math.max(...readings(text, 'tidemark_stream_oldest_age_seconds'));
  const bytes = readings(text, 'tidemark_stream_bytes').reduce((sum, value) => sum + value, 0);
  samples.push([secondsNow(), Math.round(age), bytes]);
};

try {
  const { data_source: source } = await stack.createReport('lag');
  const url = `http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`;
  let next = 0;
  const nextBody = (): Buffer => {
    const at = Date.now();
    const data = Array.from({ length: pointsPerBody }, (_, index) => ({
      metrics: { requests: next + index, seconds: 0.25 },
      dimension: { module: `module-${index % 10}`, host: `host-${index % 100}` },
      target: '127.0.0.1',
      timestamp: at,
    }));
    next += pointsPerBody;
    return Buffer.from(JSON.stringify({ data_id: source.mon_data_id, access_token: source.token, data }));
  };
  const load = { urls: [url], headers: {}, nextBody, itemsPerBody: pointsPerBody, connections: 4 };
  let isRecording = true;
  const recording = (async (): Promise<void> => {
    while (isRecording) {
      await sample();
      await delay(sampleSeconds * 1000);
    }
  })();
  await delay(10_000);
  const [worker] = stack.transfer;
  const holding = (async (): Promise<void> => {
    while (isRecording) {
      worker?.signal('SIGSTOP');
      await delay(1000 - runsMs);
      worker?.signal('SIGCONT');
      await delay(runsMs);
    }
  })();
  // A step, and three bursts on top of what is left of it.
  await runLoad(load, 70);
  await delay(10_000);
  for (let burst = 0; burst < 3; burst++) {
    await runLoad(load, 10);
    await delay(15_000);
  }
  await stack.waitForEmptyStream('METRICS', 600_000);
  await delay(15_000);
  isRecording = false;
  await Promise.all([recording, holding]);
  process.stdout.write(`${JSON.stringify({ sampleSeconds, points: next, samples })}\n`);
} finally {
  await stack.stop();
}
