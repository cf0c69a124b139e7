import { join } from 'node:path';
import { loadPipelines } from '../../../src/config/pipelines.ts';
import type { BodyLimits } from '../../../src/ingress/http/body.ts';
import type { TargetName } from './recipe.ts';

const root = join(import.meta.dirname, '../../..');
const { metrics, traces } = loadPipelines(join(root, 'pipelines'));

/** The limits of the pipelines as they are shipped. */
export const pushLimits = metrics.limits;
export const traceLimits = traces.limits;

export const bodyLimitsOf = (target: TargetName): BodyLimits & { readonly elementsMax: number } =>
  target === 'push' ? pushLimits : traceLimits;
