import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { parseYamlFile } from '../../../src/config/yaml-file.ts';
import type { Pipeline } from '../../../src/model/signals.ts';
import { fillVariables } from './values.ts';

/**
 * The form of the files under schemas/examples; schemas/examples/examples.schema.json has the meaning of each field.
 */
export type ExampleFile = {
  readonly receiver: Receiver;
  readonly order: number;
  readonly title: string;
  readonly about: string;
  readonly cases: readonly CaseForm[];
};

export type Receiver = 'push' | 'traces' | 'logs' | 'metrics';

/** The pipeline of the items of a receiver. */
export const pipelineOf = {
  push: 'metrics',
  traces: 'traces',
  logs: 'logs',
  metrics: 'otel_metrics',
} as const satisfies Readonly<Record<Receiver, Pipeline>>;

export type Encoding = 'json' | 'protobuf';

type SourceName = 'plain' | 'split' | 'disabled' | 'deleted' | 'rotated' | 'event';
export type SourceForm =
  | SourceName
  | {
      readonly of: SourceName;
      readonly with?: Record<string, unknown>;
      readonly policy?: Record<string, unknown>;
    };

export type RequestForm = {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly credential?: string;
  readonly points?: unknown;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly spans?: unknown;
  readonly records?: unknown;
  readonly data_points?: unknown;
  readonly otlp?: unknown;
  readonly json?: unknown;
  readonly text?: unknown;
  readonly base64?: string;
  readonly prefix?: string;
  readonly suffix?: string;
  readonly pad_to?: number;
  readonly cut?: number;
  readonly content_encoding?: 'gzip' | 'deflate' | 'zstd';
  readonly compress?: 'gzip' | 'deflate' | 'zstd';
  readonly damage?: 'cut_6_bytes' | 'flip_third_last_byte' | 'again_behind_zeros';
  readonly chunks?: number;
  readonly raw_head?: readonly unknown[];
};

export type ResponseForm = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly body?: 'success' | 'refusal' | 'outcome' | 'empty';
  readonly json?: unknown;
  readonly reason?: string;
  readonly code?: number;
  readonly rejected?: number;
  readonly says?: string | readonly string[];
  readonly message?: string;
  readonly examples?: readonly unknown[];
  readonly continues?: boolean;
};

export type Exchange = {
  readonly times?: number;
  readonly request: RequestForm;
  readonly response: ResponseForm;
};

export type StoredForm =
  | 'none'
  | readonly Record<string, unknown>[]
  | {
      readonly count?: number;
      readonly rows?: readonly Record<string, unknown>[];
      readonly columns?: Readonly<Record<string, string>>;
      readonly queries?: readonly { readonly sql: string; readonly answer: readonly unknown[] }[];
    };

type Counts = Readonly<Record<string, number>>;

/** What became of the items of a case, as the counters of the roles show it. */
export type Outcome = {
  readonly accepted?: number;
  readonly stored?: number;
  readonly dropped?: Counts;
  readonly deferred?: Counts;
  readonly values_dropped?: Counts;
  readonly leniencies?: Counts;
  readonly refused?: Counts;
  readonly repeats?: number;
};

/** A case as it is written: with its variables, and for every encoding. */
export type CaseForm = {
  readonly name: string;
  readonly rule: string;
  readonly note?: string;
  readonly source?: SourceForm;
  readonly others?: Readonly<Record<string, SourceForm>>;
  readonly alone?: true;
  readonly at_once?: true;
  readonly as?: readonly Encoding[];
  readonly each?: readonly Readonly<Record<string, unknown>>[];
  readonly request?: RequestForm;
  readonly response?: ResponseForm;
  readonly exchanges?: readonly Exchange[];
  readonly stored: StoredForm;
  readonly stored_of?: Readonly<Record<string, StoredForm>>;
  readonly outcome?: Outcome;
};

/** A case as it is run. */
export type ExampleCase = {
  readonly receiver: Receiver;
  /** Base name of its file. */
  readonly topic: string;
  readonly name: string;
  readonly sources: Readonly<Record<string, SourceForm>>;
  readonly isAlone: boolean;
  readonly isAtOnce: boolean;
  readonly encoding: Encoding;
  readonly exchanges: readonly Exchange[];
  /** By source. */
  readonly stored: Readonly<Record<string, StoredForm>>;
  readonly outcome: Outcome;
};

const root = resolve(import.meta.dirname, '../../..');

const formsFile = join(root, 'schemas/examples/examples.schema.json');

// Strict: an unknown keyword would be a rule that nobody enforces.
const ajv = new Ajv({ strict: true });
ajv.addSchema(JSON.parse(readFileSync(formsFile, 'utf8')), 'examples');

const checked = <T>(
  part: '' | '#/definitions/case',
  value: unknown,
  placeOf: (path: string[]) => string,
): T => {
  const validate = ajv.getSchema(`examples${part}`);
  const isValid = (form: unknown): form is T => validate?.(form) === true;
  if (isValid(value)) return value;
  const path = validate?.errors?.[0]?.instancePath.split('/').slice(1) ?? [];
  throw new Error(`${placeOf(path)}: ${ajv.errorsText(validate?.errors)}`);
};

const checkedCase = (value: unknown, name: string): CaseForm =>
  checked('#/definitions/case', value, () => name);

/** A file and the name of its topic. */
export type Topic = { readonly topic: string; readonly file: ExampleFile };

/**
 * The checked files of a receiver in the order of its page. Throws with file, line and remedy where one does not match
 * the schema.
 */
export const readTopics = (receiver: Receiver): Topic[] => {
  const folder = join(root, 'schemas/examples', receiver);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => {
      const { value, placeOf } = parseYamlFile(join(folder, name));
      const file = checked<ExampleFile>('', value, placeOf);
      if (file.receiver !== receiver) throw new Error(`${name}: the receiver is ${file.receiver}`);
      return { topic: basename(name, '.yaml'), file };
    })
    .toSorted((a, b) => a.file.order - b.file.order);
};

const exchangesOf = ({ name, request, response, exchanges }: CaseForm): readonly Exchange[] => {
  if (exchanges !== undefined) return exchanges;
  if (request === undefined || response === undefined) throw new Error(`${name}: no exchange`);
  return [{ request, response }];
};

/** Bodies that are written as text or bytes have one encoding; a logical body has two. */
const encodingsOf = (receiver: Receiver, form: CaseForm): readonly Encoding[] => {
  if (form.as !== undefined) return form.as;
  const isLogical = exchangesOf(form).every(({ request: { otlp, spans, records, data_points } }) =>
    [otlp, spans, records, data_points].some((body) => body !== undefined),
  );
  return receiver !== 'push' && isLogical ? ['json', 'protobuf'] : ['json'];
};

/** The cases that a form stands for: one for each row of its variables and each encoding. */
export const expandCase = (receiver: Receiver, topic: string, template: CaseForm): ExampleCase[] => {
  const { each = [{}], ...form } = template;
  return each.flatMap((variables) => {
    const filled = checkedCase(fillVariables(form, variables), template.name);
    const encodings = encodingsOf(receiver, filled);
    return encodings.map((encoding) => ({
      receiver,
      topic,
      name: encodings.length > 1 ? `${filled.name} (${encoding})` : filled.name,
      sources: { own: filled.source ?? 'plain', ...filled.others },
      isAlone: filled.alone === true,
      isAtOnce: filled.at_once === true,
      encoding,
      exchanges: exchangesOf(filled),
      stored: { own: filled.stored, ...filled.stored_of },
      outcome: filled.outcome ?? {},
    }));
  });
};

/** Every case of a receiver. Throws where two have the same name. */
export const readCases = (receiver: Receiver): ExampleCase[] => {
  const cases = readTopics(receiver).flatMap(({ topic, file }) =>
    file.cases.flatMap((form) => expandCase(receiver, topic, form)),
  );
  const names = new Set<string>();
  for (const { topic, name } of cases) {
    const key = `${topic}: ${name}`;
    if (names.has(key)) throw new Error(`two cases are called "${key}"`);
    names.add(key);
  }
  return cases;
};
