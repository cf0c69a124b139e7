import type { components } from '../api/schema.d.ts';

// The signals that the deployment takes, as the API names them: a new one does not compile before it is named here.

export type Pipeline = components['schemas']['OutcomeBucket']['pipeline'];

type Signal = {
  /** Whether an application owns its items, and not a data id. */
  readonly isOfApplications: boolean;
  readonly item: string;
  readonly items: string;
};

const signals: Readonly<Record<Pipeline, Signal>> = {
  metrics: { isOfApplications: false, item: 'point', items: 'points' },
  traces: { isOfApplications: true, item: 'span', items: 'spans' },
  logs: { isOfApplications: true, item: 'log record', items: 'log records' },
  otel_metrics: { isOfApplications: true, item: 'data point', items: 'data points' },
};

const isPipeline = (name: string): name is Pipeline => Object.hasOwn(signals, name);

export const pipelines: readonly Pipeline[] = Object.keys(signals).filter(isPipeline);

/** `point`, `span`, `log record`, `data point`. */
export const itemOf = (pipeline: Pipeline): string => signals[pipeline].item;

/** `points`, `spans`, `log records`, `data points`. */
export const itemsOf = (pipeline: Pipeline): string => signals[pipeline].items;

export const isOfApplications = (pipeline: Pipeline): boolean => signals[pipeline].isOfApplications;

/** Whether the items of a stream (`METRICS-b` is one of metrics) belong to applications; false for a stream without items. */
export const isStreamOfApplications = (stream: string): boolean => {
  const name = stream.split('-')[0]?.toLowerCase() ?? '';
  return isPipeline(name) && isOfApplications(name);
};

/** Terms of an account that are rarely anything else than 0: shown where they are. */
export const furtherTerms = ['repeated', 'lost', 'stuck', 'unrecorded'] as const;

/** `spans and log records`; `points, spans and log records`. */
export const listed = (words: readonly string[], last: 'and' | 'or'): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
