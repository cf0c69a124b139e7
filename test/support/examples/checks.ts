import { expect } from 'vitest';
import { otlpSignals } from '../../../src/ingress/otlp/signals.ts';
import { counted } from '../../../src/model/counted.ts';
import { contentTypes, partialOf, statusOf } from '../otlp/client.ts';
import { storedColumns, storedLogColumns, storedMetricColumns } from '../otlp/trace-stack.ts';
import { expectEnvelope, plainSuccess } from '../push/replies.ts';
import type { Stack } from '../stack/stack.ts';
import { waitFor } from '../wait.ts';
import {
  type ExampleCase,
  type Outcome,
  pipelineOf,
  type Receiver,
  type ResponseForm,
  type StoredForm,
} from './examples.ts';
import type { Answered, Ran } from './runner.ts';
import type { PreparedSource } from './sources.ts';
import { fill, type Lookup } from './values.ts';

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const between = (low: number, high: number) =>
  expect.toSatisfy((value: unknown) => typeof value === 'number' && value >= low && value <= high);

/** What an object with one of these keys allows. */
const matchers: Readonly<Record<string, (wanted: unknown) => unknown>> = {
  $any: (kind) => (kind === 'number' ? expect.any(Number) : expect.any(String)),
  $contains: (text) => expect.stringContaining(String(text)),
  $matches: (pattern) => expect.stringMatching(new RegExp(String(pattern))),
  $length: (length) => expect.toSatisfy((list: unknown) => Array.isArray(list) && list.length === length),
  $between: (bounds) => (Array.isArray(bounds) ? between(Number(bounds[0]), Number(bounds[1])) : undefined),
  $like: (fields) => expect.objectContaining(Object(matching(fields))),
};

const matching = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(matching);
  if (!isObject(value)) return value;
  const [key = '', ...others] = Object.keys(value);
  const matcher = others.length === 0 ? matchers[key] : undefined;
  if (matcher !== undefined) return matcher(value[key]);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, matching(item)]));
};

const expected = (form: unknown, lookup: Lookup): unknown => matching(fill(form, lookup));

const saysOf = ({ says }: ResponseForm, lookup: Lookup): string[] => {
  const filled = fill(says ?? [], lookup);
  return (Array.isArray(filled) ? filled : [filled]).map(String);
};

const total = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + Number(count), 0);

const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([reason, count]) => `${reason} ${count}`)
    .join(', ');

/** The message that an outcome makes, reasons in the order in which the case lists them. */
const outcomeMessage = (
  accepted: number,
  dropped: Record<string, number>,
  values: Record<string, number>,
): string => {
  const parts: string[] = [];
  const lost = total(dropped);
  if (lost > 0) parts.push(`${lost} of ${counted(accepted + lost, 'point')} dropped (${listed(dropped)})`);
  if (total(values) > 0) parts.push(`${counted(total(values), 'value')} dropped (${listed(values)})`);
  return parts.join('; ');
};

/** The envelope of a push whose points did not all go the normal way, but for its examples. */
const pushOutcome = (response: ResponseForm, outcome: Outcome): Record<string, unknown> => {
  const accepted = Number(outcome.accepted ?? 0);
  const dropped: Record<string, number> = { ...outcome.dropped, ...outcome.deferred };
  const values: Record<string, number> = { ...outcome.values_dropped };
  const isKept = accepted > 0;
  return {
    code: isKept ? '200' : '400',
    result: String(isKept),
    message: response.message ?? outcomeMessage(accepted, dropped, values),
    ...(isKept ? {} : { reason: response.reason ?? Object.keys(dropped)[0] }),
    accepted,
    dropped,
    values_dropped: values,
  };
};

const checkPush = ({ exchange: { response }, answer, lookup }: Answered, outcome: Outcome): void => {
  const says = saysOf(response, lookup);
  switch (response.body) {
    case 'success':
      expect(answer.text).toBe(plainSuccess);
      expectEnvelope(answer, JSON.parse(plainSuccess));
      break;
    case 'refusal':
      expectEnvelope(answer, {
        code: String(response.status),
        result: 'false',
        message: response.message ?? expect.any(String),
        reason: response.reason,
      });
      break;
    case 'outcome':
      expectEnvelope(answer, {
        ...pushOutcome(response, outcome),
        examples: response.examples === undefined ? expect.any(Array) : examplesOf(response.examples, lookup),
      });
      break;
    default:
  }
  for (const text of says) expect(Object(answer.json).message).toContain(text);
};

const examplesOf = (examples: unknown, lookup: Lookup): unknown => {
  const filled = fill(examples, lookup);
  if (!Array.isArray(filled)) return matching(filled);
  return filled.map((example) => ({
    field: expect.any(String),
    detail: expect.any(String),
    ...Object(matching(example)),
  }));
};

const checkOtlp = (
  rejectedField: string,
  { exchange: { response }, answer, lookup }: Answered,
  sentAs: 'json' | 'protobuf',
): void => {
  const type = answer.headers['content-type'];
  const encoding = type === contentTypes.protobuf ? 'protobuf' : 'json';
  const says = saysOf(response, lookup);
  expect(answer.headers['access-control-allow-origin']).toBe('*');
  if (
    response.body !== undefined &&
    response.body !== 'empty' &&
    response.headers?.['content-type'] === undefined
  )
    expect(type).toBe(contentTypes[sentAs]);
  switch (response.body) {
    case 'success':
      expect(answer.text).toBe(encoding === 'json' ? '{}' : '');
      break;
    case 'outcome': {
      const partial = partialOf(encoding, answer, rejectedField);
      expect(partial?.rejectedSpans).toBe(String(response.rejected ?? 0));
      if (response.message !== undefined) expect(partial?.errorMessage).toBe(fill(response.message, lookup));
      for (const text of says) expect(partial?.errorMessage).toContain(text);
      break;
    }
    case 'refusal': {
      const status = statusOf(encoding, answer);
      expect(status).toEqual({ code: response.code, message: expect.stringMatching(/\w+ \w+/) });
      for (const text of says) expect(status['message']).toContain(text);
      break;
    }
    default:
  }
};

/** Fails unless the answer matches the case, in status, headers and body. */
export const checkAnswer = (example: ExampleCase, answered: Answered): void => {
  const { exchange, answer, lookup } = answered;
  const { response } = exchange;
  expect([answer.status, answer.text.slice(0, 2000)]).toEqual([Number(response.status), expect.any(String)]);
  // An answer to OPTIONS is one of no request that anybody would follow.
  if (answer.status !== 204) expect(answer.headers['x-request-id']).toMatch(/^\d+$/);
  for (const [name, value] of Object.entries(response.headers ?? {})) {
    const wanted = expected(value, lookup);
    expect({ [name]: answer.headers[name] }).toEqual({ [name]: wanted });
  }
  if (response.json !== undefined) expect(answer.json).toEqual(expected(response.json, lookup));
  if (response.body === 'empty') expect(answer.text).toBe('');
  if (response.continues !== undefined) expect(answer.continued).toBe(response.continues);
  if (example.receiver === 'push') checkPush(answered, example.outcome);
  else checkOtlp(otlpSignals[pipelineOf[example.receiver]].rejectedField, answered, example.encoding);
};

type Row = Record<string, unknown>;

/** Rows of a data id in the order of their uids, without what is empty and without the uid. */
const pushRows = async (stack: Stack, table: string): Promise<Row[]> => {
  const { columns, dataset } = await stack.query(`SELECT * FROM "${table}" ORDER BY uid`);
  return dataset.map((values) => {
    const row = new Map(columns.map(({ name }, index) => [name, values[index]]));
    row.delete('uid');
    row.set('timestamp', Date.parse(String(row.get('timestamp'))));
    return Object.fromEntries([...row].filter(([, value]) => value !== null));
  });
};

/** The tables of each signal of applications, and what their rows are read back by. */
const tablesOf = {
  traces: [['otel_traces', storedColumns]],
  logs: [['otel_logs', storedLogColumns]],
  metrics: storedMetricColumns,
} as const;

/** Rows of each application in the order received; data points with the end of the name of their table, in the order of the tables. */
const readAll = async (stack: Stack, receiver: keyof typeof tablesOf): Promise<Map<number, Row[]>> => {
  const rows = new Map<number, Row[]>();
  for (const [table, columns] of tablesOf[receiver]) {
    const ofTable = receiver === 'metrics' ? { Table: table.replace('otel_metrics_', '') } : {};
    const found = await stack.spansQuery(
      `SELECT ${columns.join(', ')} FROM otel.${table} ORDER BY ArrivedAt, uid`,
    );
    for (const row of found) {
      const appId = Number(row['AppId']);
      const own = rows.get(appId) ?? [];
      if (own.length === 0) rows.set(appId, own);
      own.push({ ...ofTable, ...row });
    }
  }
  return rows;
};

const read = new Map<Receiver, Promise<Map<number, Row[]>>>();

const rowsOf = async (stack: Stack, receiver: Receiver, { id, table }: PreparedSource): Promise<Row[]> => {
  if (receiver === 'push') return pushRows(stack, table);
  // Once for all cases: a query of each would take longer than all that is tested.
  const all = read.get(receiver) ?? readAll(stack, receiver);
  read.set(receiver, all);
  return (await all).get(id) ?? [];
};

const checkColumns = async (
  stack: Stack,
  table: string,
  columns: Readonly<Record<string, string>>,
): Promise<void> => {
  const answer = await stack.query(`SELECT * FROM "${table}" LIMIT 0`);
  expect(Object.fromEntries(answer.columns.map(({ name, type }) => [name, type]))).toMatchObject(columns);
};

/** Views come within seconds of a name's registration, so a query may have to wait for one. */
const checkQuery = async (
  example: ExampleCase,
  stack: Stack,
  form: { readonly sql: string; readonly answer: unknown },
  lookup: Lookup,
): Promise<void> => {
  const sql = String(fill(form.sql, lookup));
  const answer =
    example.receiver === 'push'
      ? (await waitFor(sql, 60_000, () => stack.query(sql))).dataset
      : await stack.spansQuery(sql);
  expect(answer).toEqual(expected(form.answer, lookup));
};

/** Fails unless a source of the case holds exactly the rows of the case. */
export const checkStored = async (
  example: ExampleCase,
  { sources, lookup }: Ran,
  stack: Stack,
  [name, form]: readonly [string, StoredForm],
): Promise<void> => {
  const source = sources[name];
  if (source === undefined) throw new Error(`there is no source called ${name}`);
  const isPush = example.receiver === 'push';
  const rows = await rowsOf(stack, example.receiver, source);
  const wanted = fill(form === 'none' ? [] : form, lookup);
  const { count, rows: list, columns, queries } = Array.isArray(wanted) ? { rows: wanted } : Object(wanted);
  if (Array.isArray(list)) {
    const full: unknown[] = list.map(matching);
    // A span, a log record or a data point has more columns than a case is about.
    expect(rows).toEqual(isPush ? full : full.map((row) => expect.objectContaining(Object(row))));
  }
  if (count !== undefined) expect(rows).toHaveLength(Number(count));
  if (columns !== undefined) await checkColumns(stack, source.table, columns);
  for (const query of queries ?? []) await checkQuery(example, stack, query, lookup);
};
