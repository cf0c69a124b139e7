import type { Stack } from '../../test/support/stack/stack.ts';
import { spanSubject } from '../loads.ts';
import { usualPoints } from '../point-loads.ts';
import type { Subject } from '../rate.ts';
import { usualSpans } from '../span-loads.ts';
import { type OtlpSignal, type OtlpWay, otlpSignals, otlpSubject, pushSubject } from '../subjects.ts';

/** A load by its name: what is sent, and how it is opened on a stack. */
export type NamedLoad = { readonly items: string; readonly open: (stack: Stack) => Promise<Subject> };

const pointsLoad = (points: number, connections: number): NamedLoad => ({
  items: 'points',
  open: (stack) => pushSubject(stack, 'profile', { ...usualPoints, points, connections }),
});

const spansLoad = (spans: number, connections: number): NamedLoad => ({
  items: 'spans',
  open: (stack) => spanSubject(stack, 'profile', { ...usualSpans, spans, connections }),
});

const ways: readonly OtlpWay[] = ['json', 'protobuf', 'grpc'];
const otlpNames: Readonly<Record<string, OtlpSignal>> = {
  spans: 'traces',
  logs: 'logs',
  metrics: 'metrics',
};

/** The loads that a role is profiled under. */
export const namedLoads: ReadonlyMap<string, NamedLoad> = new Map([
  ['points', pointsLoad(1000, 8)],
  ['points-single', pointsLoad(1, 64)],
  ['spans-single', spansLoad(1, 64)],
  ['spans-ten', spansLoad(10, 32)],
  ...Object.entries(otlpNames).flatMap(([name, signal]) =>
    ways.map((way): [string, NamedLoad] => [
      `${name}-${way}`,
      {
        items: otlpSignals[signal].item,
        open: (stack) => otlpSubject(stack, 'profile', signal, way, 100, 8),
      },
    ]),
  ),
]);
