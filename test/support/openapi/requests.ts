import fc from 'fast-check';
import type { Document, Json, Operation, Parameter } from '../../../tools/docs/openapi.ts';
import { anyText } from '../properties.ts';
import type { RawAnswer, RawRequest } from './client.ts';
import { mutantsOf, oddEdits, Pick, valuesOf } from './json-schema-arbitrary.ts';

/** The caller that a request names. */
export type Caller = 'admin' | 'editor' | 'viewer' | 'node' | 'nobody' | 'garbage';

/** What a request carries: JSON, or text or bytes that are none. */
export type Body = { readonly value: unknown } | { readonly text: string | Buffer } | undefined;

/** A request for one operation, before values of earlier answers are put into it. */
export type Case = {
  readonly path: readonly unknown[];
  readonly query: readonly (readonly [name: string, value: unknown])[];
  readonly queryTail: string;
  readonly body: Body;
  readonly contentType: string | undefined;
  readonly ifMatch: string | undefined;
  readonly caller: Caller;
};

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const keptPerName = 40;

/** Under which name whole objects are kept, by their fields. */
const copiesOf = (fields: readonly string[]): string => `{${[...fields].sort().join()}}`;

/** The values of earlier answers: by the names of their fields, and the ETags of paths. */
export const createSeen = () => {
  const values = new Map<string, unknown[]>();
  const etags = new Map<string, string>();
  const keep = (name: string, value: unknown): void => {
    const known = values.get(name) ?? [];
    if (known.includes(value)) return;
    values.set(name, [...known.slice(-keptPerName + 1), value]);
  };
  /** All known values of the thing with an id, from any record. */
  const about = new Map<string, Json>();
  const relate = (value: Json): void => {
    for (const [name, id] of Object.entries(value)) {
      if (!name.endsWith('_id') || typeof id === 'object') continue;
      about.set(`${name}:${id}`, { ...about.get(`${name}:${id}`), ...value });
    }
  };
  const harvest = (value: unknown): void => {
    if (Array.isArray(value)) for (const part of value) harvest(part);
    if (!isObject(value)) return;
    relate(value);
    if (Object.keys(value).length > 6) keep(copiesOf(Object.keys(value)), value);
    for (const [name, part] of Object.entries(value)) {
      if (typeof part === 'object' && part !== null) harvest(part);
      else if (part !== null) keep(name, part);
    }
  };
  /** The ids that a path may mean: fields `<noun>_id` whose noun is in it, else any. */
  const idNames = (path: string): string[] => {
    const words = path.replaceAll('-', '_');
    const names = [...values.keys()].filter((name) => name.endsWith('_id') && name !== 'mon_biz_id');
    const meant = names.filter((name) => words.includes(name.replace(/^mon_/, '').slice(0, -3)));
    return meant.length > 0 ? meant : names;
  };
  const idsFor = (path: string, type: string): readonly unknown[] =>
    idNames(path)
      .flatMap((name) => values.get(name) ?? [])
      .filter((value) => typeof value === type);
  const addressed = (path: string, ids: readonly unknown[]): Json | undefined =>
    idNames(path)
      .map((name) => about.get(`${name}:${ids[0]}`))
      .find((known) => known !== undefined);
  return {
    harvest,
    /** Remembers the ETag of a read. */
    note: (target: string, { headers: { etag } }: RawAnswer): void => {
      if (typeof etag === 'string') etags.set(recordOf(target), etag);
    },
    etagOf: (target: string): string | undefined => etags.get(recordOf(target)),
    /** Of two values one is what is known of the thing that `ids` address, where that is known. */
    resolve: (value: unknown, path = '', ids: readonly unknown[] = []): unknown => {
      const own = addressed(path, ids);
      return resolved(value, (name, at) =>
        at % 2 === 0 && own?.[name] !== undefined ? [own[name]] : (values.get(name) ?? []),
      );
    },
    resolveId: (value: unknown, path: string): unknown =>
      resolved(value, (name) => idsFor(name === 'any' ? '' : path, name === 'text' ? 'string' : 'number')),
  };
};

export type Seen = ReturnType<typeof createSeen>;

/** The path of a record, without an action at its end. */
const recordOf = (target: string): string => target.split(/[?#]/)[0]?.split('/').slice(0, 5).join('/') ?? '';

const resolved = (value: unknown, seen: (name: string, index: number) => readonly unknown[]): unknown => {
  if (value instanceof Pick) {
    const known = seen(value.name, value.index);
    return known.length === 0
      ? resolved(value.fallback, seen)
      : value.edit(known[value.index % known.length]);
  }
  if (Array.isArray(value)) return value.map((part) => resolved(part, seen));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, resolved(part, seen)]));
};

const index = fc.nat({ max: 1_000 });

const oddSegment = fc.oneof(
  fc.constantFrom(
    '0',
    '-1',
    '1.5',
    '1e3',
    '99999999999999999999',
    '00',
    ' 1',
    'x',
    '*',
    '%00',
    '%zz',
    '%ff',
    '%2F',
    '..%2f',
  ),
  fc.constantFrom('a'.repeat(3_000), '\ud83d\ude00', '1;2', '1,2', "'", '%', '%E0%A4%A', '1%00'),
  anyText(12),
);

const pathValue = ({ schema }: Parameter, components: Json): fc.Arbitrary<unknown> => {
  const kind = schema['type'] === 'string' ? 'text' : 'number';
  const valid = valuesOf(schema, components);
  const picked = (name: string) => fc.tuple(index, valid).map(([at, made]) => new Pick(name, at, made));
  return fc.oneof(
    { weight: 12, arbitrary: picked(kind) },
    { weight: 2, arbitrary: picked('any') },
    { weight: 1, arbitrary: valid },
    { weight: 1, arbitrary: oddSegment },
  );
};

const queryOf = (parameters: readonly Parameter[], components: Json): fc.Arbitrary<Case['query']> => {
  const odd = fc.tuple(
    fc.constantFrom('nmae', '__proto__', 'limit', 'cursor', '', 'a[]', ...parameters.map(({ name }) => name)),
    fc.oneof(fc.constantFrom<unknown>('', 'x', '-1', 0, 1e15, 'NaN', true, '\u0000', 'null'), anyText(20)),
  );
  const given = parameters.map(({ name, schema }) => {
    const valid = valuesOf(schema, components);
    const picked = fc.tuple(index, valid).map(([at, made]) => new Pick(name, at, made));
    return fc.oneof(valid, picked).map((value): readonly [string, unknown] => [name, value]);
  });
  const some = given.length === 0 ? fc.constant([]) : fc.array(fc.oneof(...given), { maxLength: 2 });
  const odds = fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    fc.array(odd, { minLength: 1, maxLength: 2 }),
  );
  return fc.oneof(
    { weight: given.length === 0 ? 8 : 1, arbitrary: fc.constant([]) },
    fc.tuple(some, odds).map((parts) => parts.flat()),
  );
};

const brokenText: fc.Arbitrary<string | Buffer> = fc.constantFrom<string | Buffer>(
  '{',
  '[',
  '{"operator":',
  '{"operator":"a"',
  'nonsense',
  '[]',
  'null',
  '1e999',
  '"text"',
  '{"a":1,"a":2}',
  '\ufeff{}',
  '[{}]',
  "{'a':1}",
  '{"operator":"\\ud800"}',
  '['.repeat(50_000),
  `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
  Buffer.from([0xff, 0xfe, 0x7b]),
  Buffer.from('{"operator":"\u00ff"}', 'latin1'),
  ' '.repeat(1024 * 1024 + 1),
  '',
);

/** The fields that objects of a schema have: an answer's, where a change may repeat any of them. */
const fieldsOf = (given: Json, components: Json): string[] => {
  const named = components[String(given['$ref'] ?? '').replace('#/components/schemas/', '')];
  const { properties } = isObject(named) ? named : given;
  return isObject(properties) ? Object.keys(properties) : [];
};

/** What a body may be a copy of: of a change the record itself, as it is answered, else the same schema. */
const copyable = (operation: Operation, body: Json): Json =>
  operation.method === 'PATCH'
    ? (Object.values(operation.responses['200']?.content ?? {})[0]?.schema ?? body)
    : body;

const bodyOf = (operation: Operation, components: Json): fc.Arbitrary<Body> => {
  const contents = Object.values(operation.requestBody?.content ?? {});
  const [media] = contents;
  const broken = brokenText.map((text): Body => ({ text }));
  if (media === undefined) {
    return operation.method === 'GET' ? fc.constant(undefined) : fc.oneof(fc.constant(undefined), broken);
  }
  const valid = valuesOf(media.schema, components);
  const json = (value: unknown): Body => ({ value });
  // What was read, whole, as someone sends it back who has edited it.
  const copied = fc
    .tuple(
      index,
      valid,
      fc.oneof(
        fc.constant((value: unknown) => value),
        oddEdits,
      ),
    )
    .map(
      ([at, made, edit]) =>
        new Pick(copiesOf(fieldsOf(copyable(operation, media.schema), components)), at, made, edit),
    );
  return fc.oneof(
    { weight: 10, arbitrary: valid.map(json) },
    { weight: 5, arbitrary: mutantsOf(valid).map(json) },
    { weight: 3, arbitrary: copied.map(json) },
    { weight: 2, arbitrary: broken },
    { weight: operation.requestBody?.required === true ? 0 : 2, arbitrary: fc.constant(undefined) },
  );
};

const mostly = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, fc.constantFrom(...others));

/** Requests for an operation: what its document allows, and what it does not. */
export const casesOf = (operation: Operation, document: Document): fc.Arbitrary<Case> => {
  const components = document.components.schemas;
  const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
  const inQuery = operation.parameters.filter((parameter) => parameter.in === 'query');
  return fc.record({
    path: fc.tuple(...inPath.map((parameter) => pathValue(parameter, components))),
    query: queryOf(inQuery, components),
    queryTail: mostly('', '&', '&=', '&%zz=%', `&${'x'.repeat(4_000)}`, '&limit[]=1', '#part'),
    body: bodyOf(operation, components),
    contentType: mostly<string | undefined>(
      'application/json',
      undefined,
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'x',
      'application/json; charset=utf-16',
      'application/merge-patch+json',
    ),
    ifMatch: fc.oneof(
      { weight: 6, arbitrary: fc.constant(undefined) },
      { weight: 3, arbitrary: fc.constant('current') },
      fc.constantFrom(
        '*',
        '"1"',
        'W/"1"',
        '"0"',
        '',
        '17',
        '"',
        '"-1"',
        '"1", "2"',
        '"99999999999999999999"',
        '\u00ff',
        'x'.repeat(3_000),
      ),
    ),
    caller: fc.oneof(
      { weight: 10, arbitrary: fc.constant<Caller>('admin') },
      fc.constantFrom<Caller>('editor', 'viewer', 'node', 'nobody', 'garbage'),
    ),
  });
};

const segment = (value: unknown): string => {
  const text = String(value);
  // What is percent-encoded, rightly or not, goes out as it is.
  return /^[\w.,;%'*-]+$/.test(text) ? text : encodeURIComponent(text.toWellFormed());
};

/** The ids and the body of a case, with the values of the answers so far. */
export const settled = (
  operation: Operation,
  { path, body }: Case,
  seen: Seen,
): { readonly ids: readonly unknown[]; readonly body: Body } => {
  const ids = path.map((value) => seen.resolveId(value, operation.path));
  const isJson = body !== undefined && 'value' in body;
  return { ids, body: isJson ? { value: seen.resolve(body.value, operation.path, ids) } : body };
};

/** The request as it goes out. */
export const requestOf = (
  operation: Operation,
  given: Case,
  { ids: values, body }: ReturnType<typeof settled>,
  seen: Seen,
  tokens: Readonly<Record<Caller, string | undefined>>,
): RawRequest => {
  const ids = values.map(segment);
  const path = operation.path.replaceAll(/\{\w+\}/g, () => ids.shift() ?? '');
  const query = given.query.map(([name, value]) =>
    [name, String(seen.resolve(value))].map((text) => encodeURIComponent(text.toWellFormed())).join('='),
  );
  const search = `${query.join('&')}${given.queryTail}`;
  const bearer = tokens[given.caller];
  const ifMatch = given.ifMatch === 'current' ? seen.etagOf(path) : given.ifMatch;
  return {
    method: operation.method,
    target: search === '' ? path : `${path}?${search}`,
    headers: {
      ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }),
      ...(ifMatch === undefined ? {} : { 'If-Match': ifMatch }),
      ...(given.contentType === undefined ? {} : { 'Content-Type': given.contentType }),
    },
    ...(body === undefined
      ? {}
      : { body: 'text' in body ? body.text : (JSON.stringify(body.value) ?? 'null') }),
  };
};
