import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingTool } from '../support/clients/builds.ts';
import {
  answerOf,
  readOverlayScaler,
  readScaler,
  type ScalerSpec,
  syncSeconds,
} from '../support/deploy/autoscaler.ts';
import {
  type Prometheus,
  prometheusPrograms,
  promtool,
  startPrometheus,
} from '../support/deploy/prometheus.ts';
import { courseOf, type ScalingCourse, type Scrape, stories } from '../support/deploy/scaling-courses.ts';
import { takePorts } from '../support/stack/ports.ts';
import { openTempFolder } from '../support/stack/temp-folder.ts';

const missing = await missingTool('go');
const { storeAway, backlog, blind, storeAwayWithWorkers } = stories;

const scalers: readonly (readonly [string, ScalerSpec])[] = [
  ['base', readScaler()],
  ['nats-lag', readOverlayScaler('nats-lag')],
];
/** Each course is hours of its own, one after the other, the last of them long past. */
const hour = 3_600;
const firstStart = Math.floor(Date.now() / 1000 / hour) * hour - 48 * hour;
/** The streams that transfer is scaled by, and the pipeline of each; a further QuestDB has a stream of its own. */
const pipelineOf = {
  ...{ METRICS: 'metrics', 'METRICS-b': 'metrics-b', TRACES: 'traces' },
  ...{ LOGS: 'logs', OTEL_METRICS: 'otel_metrics' },
};
type StreamName = keyof typeof pipelineOf;
const streams: readonly StreamName[] = ['METRICS', 'METRICS-b', 'TRACES', 'LOGS', 'OTEL_METRICS'];

/** Every story with points waiting; that of a store that is away with each stream, whose own store alone may hold its age. */
const waiting = [
  ...[storeAway, backlog, blind].map((story) => ({ story, stream: 'METRICS' as const })),
  ...streams.map((stream) => ({ story: storeAwayWithWorkers, stream })),
];
const courses = scalers
  .flatMap(([overlay, scaler]) => waiting.map((each) => ({ ...each, overlay, scaler })))
  .map(({ story, stream, overlay, scaler }, index) => ({
    title: `${overlay}: ${story.name}, ${stream}`,
    ...{ stream, scaler },
    start: firstStart + index * 2 * hour,
    course: courseOf(scaler, story),
  }));

type Sample = readonly [series: string, value: number, at: number];

/** A figure of each stream: of the one with the items, of the others, and of one that transfer is not scaled by. */
const ofStreams = (name: string, at: number, full: StreamName, value: number): Sample[] => {
  const sample = (stream: string, its: number): Sample => [
    `${name}{stream="${stream}",job="tidemark-metadata",instance="metadata:10312"}`,
    its,
    at,
  ];
  return [
    ...streams.map((stream) => sample(stream, stream === full ? value : 0)),
    sample('LEDGER', 2 * value + 7),
  ];
};

/** What Prometheus has of one scrape; of processes that ended it knows that they are down. */
const samplesOf = (
  scrape: Scrape,
  { start, stream: full, scaler: { max: processesMax } }: (typeof courses)[number],
): Sample[] => {
  const at = start + scrape.at;
  const writes = (pipeline: string, outcome: string, value: number): Sample => [
    `tidemark_transfer_writes_total{pipeline="${pipeline}",outcome="${outcome}",job="tidemark-transfer",instance="transfer-0"}`,
    value,
    at,
  ];
  return [
    ...ofStreams('tidemark_stream_oldest_age_seconds', at, full, scrape.oldestAgeSeconds),
    ...ofStreams('tidemark_stream_bytes', at, full, scrape.bytes),
    ...ofStreams('tidemark_consumer_pending', at, full, scrape.messages),
    [
      'tidemark_watch_last_success_timestamp_seconds{what="streams",job="tidemark-metadata",instance="metadata:10312"}',
      start + scrape.readAt,
      at,
    ],
    // The other stores take something all the time.
    ...streams.map((stream) =>
      writes(pipelineOf[stream], 'stored', stream === full ? scrape.stored : at - start),
    ),
    writes(pipelineOf[full], 'failed', at - start),
    writes('ledger', 'stored', at - start),
    ...Array.from(
      { length: processesMax },
      (_, index): Sample => [
        `up{job="tidemark-transfer",instance="transfer-${index}"}`,
        index < scrape.replicas ? 1 : 0,
        at,
      ],
    ),
  ];
};

const openMetrics = (): string => {
  const lines = courses.flatMap((each) => each.course.scrapes.flatMap((scrape) => samplesOf(scrape, each)));
  const bySeries = lines.toSorted(([a, , earlier], [b, , later]) =>
    a < b ? -1 : a > b ? 1 : earlier - later,
  );
  return `${bySeries.map(([series, value, at]) => `${series} ${value} ${at}`).join('\n')}\n# EOF\n`;
};

const expected = (course: ScalingCourse, trigger: ScalerSpec['triggers'][number]): (number | undefined)[] =>
  course.scrapes.map(({ replicas }, index) => answerOf(trigger, course.lags[index], replicas));

describe.skipIf(missing !== undefined)(`the queries that transfer is scaled by ${missing ?? ''}`, () => {
  let prometheus: Prometheus;
  let temporary: Awaited<ReturnType<typeof openTempFolder>>;
  beforeAll(async () => {
    await prometheusPrograms();
    temporary = await openTempFolder();
    const folder = temporary.path;
    const data = join(folder, 'data');
    mkdirSync(data);
    writeFileSync(join(folder, 'courses.txt'), openMetrics());
    await promtool(folder, 'tsdb', 'create-blocks-from', 'openmetrics', 'courses.txt', data);
    const config = join(folder, 'prometheus.yaml');
    writeFileSync(config, 'scrape_configs: []\n');
    const [port = 0] = await takePorts(1);
    prometheus = await startPrometheus({ config, folder: data, port });
  });
  afterAll(async () => {
    await prometheus?.stop();
    await temporary?.remove();
  });

  // A query that answers something else than the simulation takes from it would make the simulation prove nothing.
  it.each(courses)(
    'answer a real Prometheus as in the simulation: $title',
    async ({ scaler, start, course }) => {
      const end = start + (course.scrapes.at(-1)?.at ?? 0);
      for (const trigger of scaler.triggers) {
        const rows = await prometheus.queryRange(trigger.metadata.query, { start, end, step: syncSeconds });
        // KEDA refuses an answer of several values.
        expect(rows.length).toBeLessThanOrEqual(1);
        const values = new Map(rows[0]?.values.map(([at, value]) => [at - start, Number(value)]));
        const answers = course.scrapes.map(({ at }) => values.get(at));
        const wanted = expected(course, trigger);
        expect(answers.map((value) => value !== undefined)).toEqual(
          wanted.map((value) => value !== undefined),
        );
        answers.forEach((value, index) => {
          if (value !== undefined)
            expect(value, `${trigger.name} at ${index * syncSeconds} s`).toBeCloseTo(wanted[index] ?? -1, 6);
        });
      }
    },
  );
});
