import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { deployFolder } from './dashboards.ts';

const policies = z.array(
  z.strictObject({ type: z.literal('Pods'), value: z.number(), periodSeconds: z.number() }),
);
const rules = z.strictObject({ stabilizationWindowSeconds: z.number(), policies });
const trigger = z.looseObject({
  name: z.enum(['oldest-age', 'pending-bytes']),
  metricType: z.enum(['Value', 'AverageValue']),
  metadata: z.looseObject({ threshold: z.coerce.number(), query: z.string() }),
});
const scaledObject = z.looseObject({
  kind: z.literal('ScaledObject'),
  spec: z.looseObject({
    minReplicaCount: z.number().min(1),
    maxReplicaCount: z.number(),
    advanced: z.looseObject({
      horizontalPodAutoscalerConfig: z.looseObject({
        behavior: z.strictObject({ scaleUp: rules, scaleDown: rules }),
      }),
    }),
    triggers: z.array(trigger),
  }),
});

type Rules = z.output<typeof rules>;

/** The configuration of the scaler of transfer, as in the manifest. */
export type ScalerSpec = {
  readonly min: number;
  readonly max: number;
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
    scaleUp,
    scaleDown,
    triggers: spec.triggers,
  };
};

/** What the queries of the two triggers answer. */
export type Lag = { readonly oldestAgeSeconds: number; readonly bytes: number };

/** The autoscaler's own values: `--horizontal-pod-autoscaler-sync-period` and `-tolerance`. */
export const syncSeconds = 15;
const tolerance = 0.1;

type Change = { readonly at: number; readonly by: number };

/**
 * Kubernetes' HorizontalPodAutoscaler (autoscaling/v2) with external metrics, as KEDA configures it: the largest number
 * that any metric requires, a tolerance, the stabilization windows, then the limits of the policies. The required
 * replicas exist at once.
 */
export const createScaler = (spec: ScalerSpec) => {
  let replicas = spec.min;
  const recommendations: { readonly at: number; readonly replicas: number }[] = [];
  const changes: Change[] = [];

  const wantedBy = ({ name, metricType, metadata }: ScalerSpec['triggers'][number], lag: Lag): number => {
    const value = name === 'oldest-age' ? lag.oldestAgeSeconds : lag.bytes;
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
    sync: (at: number, lag: Lag): number => {
      const wanted = Math.max(...spec.triggers.map((each) => wantedBy(each, lag)));
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
  lagAt: (second: number, replicas: number) => Lag,
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
