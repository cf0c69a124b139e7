import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { deployFolder } from './dashboards.ts';

const policies = z.array(
  z.strictObject({ type: z.literal('Pods'), value: z.number(), periodSeconds: z.number() }),
);
const rules = z.strictObject({ stabilizationWindowSeconds: z.number(), policies });
const trigger = z.looseObject({
  type: z.literal('prometheus'),
  name: z.enum(['oldest-age', 'pending-bytes', 'pending-messages']),
  metricType: z.enum(['Value', 'AverageValue']),
  // No answer is an error: KEDA's default takes it for 0.
  metadata: z.looseObject({
    threshold: z.coerce.number(),
    query: z.string(),
    ignoreNullValues: z.literal('false'),
  }),
});
const triggers = z.array(trigger).min(1);
const scaledObject = z.looseObject({
  kind: z.literal('ScaledObject'),
  spec: z.looseObject({
    minReplicaCount: z.number().min(1),
    maxReplicaCount: z.number(),
    fallback: z.strictObject({
      failureThreshold: z.number(),
      replicas: z.number(),
      behavior: z.literal('currentReplicasIfHigher'),
    }),
    advanced: z.looseObject({
      horizontalPodAutoscalerConfig: z.looseObject({
        behavior: z.strictObject({ scaleUp: rules, scaleDown: rules }),
      }),
    }),
    triggers,
  }),
});

type Rules = z.output<typeof rules>;

/** The configuration of the scaler of transfer, as in the manifest. */
export type ScalerSpec = {
  readonly min: number;
  readonly max: number;
  readonly fallback: z.output<typeof scaledObject>['spec']['fallback'];
  readonly scaleUp: Rules;
  readonly scaleDown: Rules;
  readonly triggers: readonly z.output<typeof trigger>[];
};

/** The ScaledObject of transfer in deploy/kubernetes/base. */
export const readScaler = (): ScalerSpec => {
  const text = readFileSync(join(deployFolder, 'kubernetes/base/transfer.yaml'), 'utf8');
  const found = parseAllDocuments(text)
    .map((document) => scaledObject.safeParse(document.toJS()))
    .find(({ success }) => success);
  if (found?.data === undefined) throw new Error('transfer.yaml holds no ScaledObject of the known form');
  const { spec } = found.data;
  const { scaleUp, scaleDown } = spec.advanced.horizontalPodAutoscalerConfig.behavior;
  return {
    min: spec.minReplicaCount,
    max: spec.maxReplicaCount,
    fallback: spec.fallback,
    scaleUp,
    scaleDown,
    triggers: spec.triggers,
  };
};

const patched = z.looseObject({
  patches: z.array(z.looseObject({ target: z.looseObject({ kind: z.string() }), patch: z.string() })),
});
const operations = z.array(
  z.union([
    z.object({ path: z.literal('/spec/triggers'), value: triggers }),
    z.object({ path: z.literal('/spec/maxReplicaCount'), value: z.number() }),
    z.object({ path: z.literal('/spec/minReplicaCount'), value: z.number() }),
  ]),
);

/** The same as an overlay changes it. */
export const readOverlayScaler = (overlay: string): ScalerSpec => {
  const file = join(deployFolder, 'kubernetes/overlays', overlay, 'kustomization.yaml');
  const { patches } = patched.parse(parse(readFileSync(file, 'utf8')));
  let spec = readScaler();
  for (const { target, patch } of patches) {
    if (target.kind !== 'ScaledObject') continue;
    for (const { path, value } of operations.parse(parse(patch))) {
      if (path === '/spec/triggers') spec = { ...spec, triggers: value };
      else spec = { ...spec, [path === '/spec/minReplicaCount' ? 'min' : 'max']: value };
    }
  }
  return spec;
};

/** What waits. */
export type Lag = {
  readonly oldestAgeSeconds: number;
  readonly bytes: number;
  /** Default 0. */
  readonly messages?: number;
  /** Whether the store took something within the last three scrapes; default true. */
  readonly isStoring?: boolean;
};

/**
 * What the query of a trigger answers; undefined: nothing. test/deploy/scaling.test.ts sends the queries themselves to a Prometheus, on the same
 * courses.
 */
export const answerOf = (
  { name, metadata: { threshold } }: ScalerSpec['triggers'][number],
  lag: Lag | undefined,
  replicas: number,
): number | undefined => {
  if (lag === undefined) return undefined;
  const { oldestAgeSeconds, bytes, messages = 0, isStoring = true } = lag;
  const held = (value: number): number => (isStoring ? value : Math.min(value, threshold));
  if (name === 'oldest-age') return held(oldestAgeSeconds);
  return name === 'pending-bytes' ? bytes : held(messages / replicas);
};

/** The autoscaler's own values: `--horizontal-pod-autoscaler-sync-period` and `-tolerance`. */
export const syncSeconds = 15;
const tolerance = 0.1;

type Change = { readonly at: number; readonly by: number };

/**
 * Kubernetes' HorizontalPodAutoscaler (autoscaling/v2) with external metrics, as KEDA configures it: the largest number
 * that any metric requires, a tolerance, the stabilization windows, then the limits of the policies. A metric without an answer
 * forbids shrinking, until KEDA's fallback answers for it. The required replicas exist at once.
 */
export const createScaler = (spec: ScalerSpec) => {
  let replicas = spec.min;
  const recommendations: { readonly at: number; readonly replicas: number }[] = [];
  const changes: Change[] = [];
  let failures = 0;

  const wantedBy = ({ metricType, metadata }: ScalerSpec['triggers'][number], value: number): number => {
    const total = metricType === 'Value' ? value * replicas : value;
    const ratio = total / (metadata.threshold * replicas);
    return Math.abs(1 - ratio) <= tolerance ? replicas : Math.ceil(total / metadata.threshold);
  };

  const stabilized = (at: number, wanted: number): number => {
    let up = wanted;
    let down = wanted;
    for (const past of recommendations) {
      if (past.at > at - spec.scaleUp.stabilizationWindowSeconds) up = Math.min(up, past.replicas);
      if (past.at > at - spec.scaleDown.stabilizationWindowSeconds) down = Math.max(down, past.replicas);
    }
    recommendations.push({ at, replicas: wanted });
    if (replicas < up) return up;
    return Math.min(replicas, down);
  };

  /** Replicas at the beginning of a policy's period. */
  const before = (at: number, periodSeconds: number): number =>
    changes
      .filter((change) => change.at > at - periodSeconds)
      .reduce((sum, change) => sum - change.by, replicas);

  const allowed = (at: number, wanted: number): number => {
    const most = spec.scaleUp.policies.map(({ value, periodSeconds }) => before(at, periodSeconds) + value);
    const least = spec.scaleDown.policies.map(
      ({ value, periodSeconds }) => before(at, periodSeconds) - value,
    );
    if (wanted > replicas) return Math.min(wanted, Math.max(replicas, ...most));
    return wanted < replicas ? Math.max(wanted, Math.min(replicas, ...least)) : replicas;
  };

  return {
    /** One round of the autoscaler at this second. Answers the replicas from then on. */
    sync: (at: number, lag: Lag | undefined): number => {
      const answers = spec.triggers.map((each) => ({ each, value: answerOf(each, lag, replicas) }));
      const hasAll = answers.every(({ value }) => value !== undefined);
      failures = hasAll ? 0 : failures + 1;
      const isFallback = failures > spec.fallback.failureThreshold;
      const asked = answers.flatMap(({ each, value }) =>
        value === undefined ? [] : [wantedBy(each, value)],
      );
      if (isFallback) asked.push(Math.max(replicas, spec.fallback.replicas));
      const wanted = Math.max(0, ...asked);
      if (!hasAll && !isFallback && wanted <= replicas) return replicas;
      const bounded = Math.min(spec.max, Math.max(spec.min, wanted));
      const next = allowed(at, stabilized(at, bounded));
      if (next !== replicas) changes.push({ at, by: next - replicas });
      replicas = next;
      return next;
    },
  };
};

/** Replicas after each round, and how often they went the other way than before. */
export type Course = { readonly replicas: readonly number[]; readonly turns: number };

/** Runs the scaler over this many seconds of a lag that may depend on the number of replicas. */
export const runScaler = (
  spec: ScalerSpec,
  seconds: number,
  lagAt: (second: number, replicas: number) => Lag | undefined,
): Course => {
  const scaler = createScaler(spec);
  const replicas: number[] = [];
  let now = spec.min;
  let direction = 0;
  let turns = 0;
  for (let second = 0; second < seconds; second++) {
    const lag = lagAt(second, now);
    if (second % syncSeconds !== 0) continue;
    const next = scaler.sync(second, lag);
    const step = Math.sign(next - now);
    if (step !== 0 && direction !== 0 && step !== direction) turns++;
    if (step !== 0) direction = step;
    now = next;
    replicas.push(next);
  }
  return { replicas, turns };
};
