import type { Source } from '../src/directory/directory.ts';
import { scanBody } from '../src/ingress/push/decode.ts';
import { encodePush, type PushTask } from '../src/ingress/push/encode.ts';
import type { Fragment } from '../src/ingress/push/message.ts';
import { buildMessage } from '../src/ingress/push/publish.ts';
import { countedBase } from '../src/model/uid.ts';
import type { Run } from '../src/rules/points/encoded-points.ts';
import { validateDeferredPoints } from '../src/transfer/points/validate-points.ts';
import { decodeEnvelope } from '../src/wire/metrics-envelope.ts';
import { defaultTimePolicy } from '../test/support/time-policy.ts';
import { pushBodies } from './bodies.ts';
import type { Row } from './report.ts';

const pointsPerBody = 1000;
const bodiesCount = 64;
const secondsPerRun = 1.5;

const source: Source = {
  dataId: 1_500_001,
  token: '0123456789abcdef0123456789abcdef',
  isEnabled: true,
  typeLabel: 'time_series',
  tableId: '2_mon_time_series_1500001.__default__',
  questdb: 'default',
  layout: 'wide',
  maxRate: 0,
  previousToken: undefined,
  identityCredential: undefined,
  rules: { time: defaultTimePolicy, pointsMax: 50_000, metricsMax: 512, dimensionsMax: 64 },
  metrics: new Map([
    ['cpu_load', 'cpu_load'],
    ['memory_usage', 'memory_usage'],
  ]),
  dimensions: new Map([
    ['module', 'module'],
    ['location', 'location'],
    ['host', 'host'],
  ]),
};

const taskAt = (arrivedAt: number): PushTask => ({
  pair: { dataId: source.dataId, token: source.token },
  table: source,
  caps: source.rules,
  policy: defaultTimePolicy,
  arrivedAt,
  base: countedBase(1_500_000, 0),
  isKeyed: false,
  namesAreFinal: false,
  pointsMax: source.rules.pointsMax,
  elementsMax: 4_000_000,
});

const encodeBody = (bytes: Buffer, arrivedAt: number): Run => {
  const push = encodePush(bytes, taskAt(arrivedAt));
  const run = push.kind === 'encoded' ? push.encoded.runs[0] : undefined;
  if (run === undefined) throw new Error('the bench body has no run');
  return run;
};

/** Runs `work` over the inputs until the time is up; CPU time is this process's own. */
const measure = <T>(stage: string, inputs: readonly T[], work: (input: T) => void): Row => {
  for (const input of inputs) work(input);
  const cpuStart = process.cpuUsage();
  const start = performance.now();
  let bodies = 0;
  while (performance.now() - start < secondsPerRun * 1000) {
    for (const input of inputs) work(input);
    bodies += inputs.length;
  }
  const seconds = (performance.now() - start) / 1000;
  const cpu = process.cpuUsage(cpuStart);
  const points = bodies * pointsPerBody;
  return {
    stage,
    items_per_second: Math.round(points / seconds),
    cpu_seconds_per_million: Number((((cpu.user + cpu.system) / 1e6 / points) * 1e6).toFixed(3)),
  };
};

type PointInputs = ReturnType<typeof pointInputs>;

/** Bodies of pushes, and the results of each stage for them. */
const pointInputs = () => {
  const nowMs = Date.now();
  const bodies = pushBodies(bodiesCount, pointsPerBody, source.dataId, source.token, nowMs);
  const fragmentOf = (run: Run): Fragment => ({
    ...{ source, run, arrivedAt: nowMs, policy: defaultTimePolicy },
    base: countedBase(1_500_000, 0),
  });
  const fragments = bodies.map((bytes) => fragmentOf(encodeBody(bytes, nowMs)));
  const messages = fragments.map((fragment) => buildMessage([fragment]));
  return { nowMs, bodies, fragmentOf, fragments, messages };
};

/** The inputs of the stages with an engine: messages in ingress's form, rows in transfer's form. */
export const pointStageInputs = () => {
  const { bodies, fragments, messages } = pointInputs();
  return {
    pushBodies: bodies,
    pointsPerBody,
    pointMessages: messages,
    pointRows: fragments.map(({ run }) => Buffer.from(run.text)),
    pointsTable: source.tableId,
  };
};

/** The stages that run in Tidemark's own processes, one core, without engines. */
export const measureStages = (): Row[] => stageRows(pointInputs());

const stageRows = ({ nowMs, bodies, fragmentOf, fragments, messages }: PointInputs): Row[] => {
  return [
    measure('find the credential', bodies, (bytes) => {
      scanBody(bytes, 4_000_000);
    }),
    measure('parse, rules and encode', bodies, (bytes) => {
      encodeBody(bytes, nowMs);
    }),
    measure('envelope', fragments, (fragment) => {
      buildMessage([fragment]);
    }),
    measure('parse, rules, encode and envelope', bodies, (bytes) => {
      buildMessage([fragmentOf(encodeBody(bytes, nowMs))]);
    }),
    measure('validate (read in transfer)', messages, (payload) => {
      const read = decodeEnvelope(payload, 1);
      if (read.kind === 'envelope') validateDeferredPoints(read.envelope);
    }),
  ];
};
