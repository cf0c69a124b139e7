import type { OtlpSpan } from '../../support/otlp/protobuf.ts';
import { attribute } from '../../support/otlp/trace-cases.ts';

const minuteMs = 60_000;

/** Minutes of data, from forty minutes ago: all of them are within the last hour of every query. */
export const minutes = 30;

export const baseMs = (Math.floor(Date.now() / minuteMs) - 40) * minuteMs;

type Target = 'web-1' | 'web-2';

const targets: readonly Target[] = ['web-1', 'web-2'];

export const moduleOf = (target: Target): string => (target === 'web-1' ? 'web' : 'db');

/** Minutes in which web-2 sends no requests. */
export const isGap = (target: Target, minute: number): boolean =>
  target === 'web-2' && minute >= 10 && minute < 13;

/** Every metric comes in points of its own, as from programs that report each when they know it. */
export type Sample = {
  readonly target: Target;
  readonly atMs: number;
  readonly metric: 'requests' | 'latency_ms' | 'cpu_load';
  readonly value: number;
};

const at = (minute: number, second: number): number => baseMs + minute * minuteMs + second * 1_000;

export const requests: readonly Sample[] = Array.from({ length: minutes }, (_, minute) =>
  targets.flatMap((target, index): Sample[] =>
    isGap(target, minute)
      ? []
      : [{ target, atMs: at(minute, 50), metric: 'requests', value: (minute + 1) * (index + 1) * 60 }],
  ),
).flat();

/** 0.1, 0.2, … 100: the percentiles of all are known. */
export const latencies: readonly Sample[] = Array.from({ length: 1_000 }, (_, index) => ({
  target: index % 2 === 0 ? 'web-1' : 'web-2',
  atMs: at(Math.floor(index / 2) % minutes, Math.floor(index / 60)) + (index % 2),
  metric: 'latency_ms',
  value: (index + 1) / 10,
}));

/** The last point of each target, with no other metric. */
export const loads: readonly Sample[] = targets.map((target, index) => ({
  target,
  atMs: at(minutes - 1, 55),
  metric: 'cpu_load',
  value: 0.5 + index,
}));

export const pushPointOf = ({ target, atMs, metric, value }: Sample): object => ({
  metrics: { [metric]: value },
  target,
  dimension: { module: moduleOf(target) },
  timestamp: atMs,
});

/** How much a counter of one target and these modules grows from each point to the next. */
export const counterSteps = { db: 19, web: 57 } as const;
export const counterGapMs = 1_900;
export const counterPoints = 40;

/** The points of that counter, whose modules take turns within each gap. */
export const counterPushes = (): object[] =>
  Array.from({ length: counterPoints }, (_, point) =>
    Object.entries(counterSteps).map(([module, step], index) => ({
      metrics: { requests: 1_000 * index + (point + 1) * step },
      target: 'web-1',
      dimension: { module },
      timestamp: baseMs + point * counterGapMs + index * 400,
    })),
  ).flat();

/** The traces, one a minute. Every fifth fails. */
export const traces = 20;

export const isFailed = (trace: number): boolean => trace % 5 === 0;

export const traceIdOf = (trace: number): string => (0x5b8e0000 + trace).toString(16).padStart(32, '0');

export const startOf = (trace: number): number => at(trace, 0);

/** Milliseconds of the three spans of a trace, each a child of the one before. */
export const durationsOf = (trace: number) => ({
  get: 10 * (trace + 1),
  load: 5 * (trace + 1),
  select: trace + 1,
});

type Given = { readonly depth: number; readonly name: string; readonly kind: number; readonly ms: number };

const spanIdOf = (depth: number): string => String(depth + 1).padStart(16, '0');

const spanOf = (trace: number, { depth, name, kind, ms }: Given): OtlpSpan => {
  const start = BigInt(startOf(trace) + depth) * 1_000_000n;
  const isRoot = depth === 0;
  return {
    traceId: traceIdOf(trace),
    spanId: spanIdOf(depth),
    ...(isRoot ? {} : { parentSpanId: spanIdOf(depth - 1) }),
    name,
    kind,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + BigInt(ms) * 1_000_000n),
    attributes: isRoot ? [attribute('http.route', '/cart')] : [],
    status: { code: isFailed(trace) && kind === 2 ? 2 : 1 },
  };
};

/** What the services of a trace log: the gateway its request, the cart why it failed. */
export const logRecordsOf = (trace: number) => [
  {
    service: 'gateway',
    atMs: startOf(trace) + 1,
    severity: { text: 'INFO', number: 9 },
    body: `GET /cart took ${durationsOf(trace).get} ms`,
  },
  ...(isFailed(trace)
    ? [
        {
          service: 'cart',
          atMs: startOf(trace) + 2,
          severity: { text: 'ERROR', number: 17 },
          body: `cart ${trace} not loaded: connection refused`,
        },
      ]
    : []),
];

/** The two requests of a trace: each service exports its own spans. */
export const exportsOf = (trace: number) => {
  const { get, load, select } = durationsOf(trace);
  const own = (service: string, spans: readonly Given[]) => ({
    resourceSpans: [
      {
        resource: { attributes: [attribute('service.name', service)] },
        scopeSpans: [{ spans: spans.map((each) => spanOf(trace, each)) }],
      },
    ],
  });
  return [
    own('gateway', [{ depth: 0, name: 'GET /cart', kind: 2, ms: get }]),
    own('cart', [
      { depth: 1, name: 'load cart', kind: 2, ms: load },
      { depth: 2, name: 'SELECT cart', kind: 3, ms: select },
    ]),
  ];
};
