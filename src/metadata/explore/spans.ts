import { z } from 'zod';
import { big, count, text, texts } from './run.ts';

const nested = z.array(texts);

/** A row of `spansSql`. */
export const spanRowSchema = z.object({
  uid: text,
  span_id: text,
  parent_span_id: text,
  trace_state: text,
  name: text,
  kind: text,
  service: text,
  scope_name: text,
  scope_version: text,
  start: big,
  duration: big,
  app_id: count,
  status: text,
  status_message: text,
  attribute_keys: texts,
  attribute_values: texts,
  resource_keys: texts,
  resource_values: texts,
  event_times: z.array(big),
  event_names: texts,
  event_keys: nested,
  event_values: nested,
  link_traces: texts,
  link_spans: texts,
  link_states: texts,
  link_keys: nested,
  link_values: nested,
});

type SpanRow = z.output<typeof spanRowSchema>;

/** An attribute. As a list: a key may be called as anything of an object's own. */
export type Attribute = { readonly key: string; readonly value: string };

export const attributesOf = (keys: readonly string[] = [], values: readonly string[] = []): Attribute[] =>
  keys.map((key, index) => ({ key, value: values[index] ?? '' }));

const eventsOf = (row: SpanRow) =>
  row.event_times.map((time, index) => ({
    offset_ns: Number(time - row.start),
    name: row.event_names[index] ?? '',
    attributes: attributesOf(row.event_keys[index], row.event_values[index]),
  }));

const linksOf = (row: SpanRow) =>
  row.link_traces.map((trace, index) => ({
    trace_id: trace,
    span_id: row.link_spans[index] ?? '',
    trace_state: row.link_states[index] ?? '',
    attributes: attributesOf(row.link_keys[index], row.link_values[index]),
  }));

/** Rows of one span, delivered more than once, follow each other. */
const withoutRepeats = (rows: readonly SpanRow[]): SpanRow[] =>
  rows.filter(({ uid }, index) => index === 0 || rows[index - 1]?.uid !== uid);

/** Resources once each: most spans of a service share theirs. */
const createResources = () => {
  const places = new Map<string, number>();
  const resources: Attribute[][] = [];
  return {
    resources,
    placeOf: ({ resource_keys: keys, resource_values: values }: SpanRow): number => {
      const key = JSON.stringify([keys, values]);
      const known = places.get(key);
      if (known !== undefined) return known;
      places.set(key, resources.length);
      return resources.push(attributesOf(keys, values)) - 1;
    },
  };
};

/** The spans of a trace in the order of their rows. Offsets of spans are from the start of the first one, those of events from their span. */
export const shownSpans = (given: readonly SpanRow[]) => {
  const rows = withoutRepeats(given);
  const start = rows[0]?.start ?? 0n;
  const { resources, placeOf } = createResources();
  let end = start;
  const spans = rows.map((row) => {
    const ended = row.start + row.duration;
    if (ended > end) end = ended;
    return {
      span_id: row.span_id,
      parent_span_id: row.parent_span_id,
      name: row.name,
      kind: row.kind,
      service: row.service,
      app_id: row.app_id,
      offset_ns: Number(row.start - start),
      duration_ns: Number(row.duration),
      status: row.status,
      status_message: row.status_message,
      trace_state: row.trace_state,
      scope: { name: row.scope_name, version: row.scope_version },
      resource: placeOf(row),
      attributes: attributesOf(row.attribute_keys, row.attribute_values),
      events: eventsOf(row),
      links: linksOf(row),
    };
  });
  return { start_unix_nano: String(start), duration_ns: Number(end - start), spans, resources };
};
