import { join } from 'node:path';
import { loadPipelines } from '../../../src/config/pipelines.ts';
import type { BodyLimits } from '../../../src/ingress/http/body.ts';
import type { ApplicationPipeline } from '../../../src/model/signals.ts';
import { otlpTargetOf } from './otlp-targets.ts';
import type { TargetName } from './recipe.ts';

const root = join(import.meta.dirname, '../../..');
const pipelines = loadPipelines(join(root, 'pipelines'));

/** The limits of the pipelines as they are shipped. */
export const pushLimits = pipelines.metrics.limits;
export const otlpLimits = (pipeline: ApplicationPipeline) => pipelines[pipeline].limits;

export const bodyLimitsOf = (target: TargetName): BodyLimits & { readonly elementsMax: number } =>
  target === 'push' ? pushLimits : otlpLimits(otlpTargetOf(target)?.pipeline ?? 'traces');
