import { z } from 'zod';
import { flagText, numberText } from '../number-text.ts';
import { fieldFault } from '../problem.ts';
import type { RecordSet } from './store.ts';

const integer = numberText(
  /^-?\d{1,10}$/,
  'must be an integer of at most 10 digits',
  z.int().min(-9_999_999_999).max(9_999_999_999),
);
const flag = flagText();
const limitText = 'must be an integer from 1 to 1000';

/** The common query of every list: the page size and the start. */
export const pageQuery = {
  limit: numberText(
    /^\d{1,6}$/,
    limitText,
    z.int().min(1, limitText).max(1000, limitText).meta({ description: 'How many items a page has at most' }),
  ).default(100),
  cursor: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'is not a next_cursor of this list')
    .meta({ description: 'The next_cursor of the page before', examples: ['MTA'] })
    .optional(),
};

/** A list's page by ascending id; `next_cursor` is null on the last one. */
export type Page<T> = { items: T[]; next_cursor: string | null };

/** Filters of a list: each compares the record's own field of that name by equality. */
const filters = { integer, text: z.string(), flag } as const;

/** A filter is one of these, or has a schema of its own where only some words may occur. */
type Fields = Readonly<Record<string, keyof typeof filters | z.ZodType>>;

const filterOf = (kind: Fields[string]): z.ZodType => (typeof kind === 'string' ? filters[kind] : kind);

/** The parameter that adds what Tidemark made for itself. */
export const systemQuery = {
  system: flag.optional().meta({ description: 'Also the records of `tidemark doctor`' }),
};

const wordsMax = 20;

/** Each is looked for in every record. */
const wordsOf = (search: string): string[] =>
  search
    .toLowerCase()
    .split(' ')
    .filter((word) => word !== '');

/** The parameter that searches a list of records as the console does. */
export const searchQuery = {
  search: z
    .string()
    .max(1000, 'must have at most 1000 characters')
    .refine((search) => wordsOf(search).length <= wordsMax, `must have at most ${wordsMax} words`)
    .meta({
      description:
        'At most 20 words: of each record, each is a part of its name in any case, the beginning of its data id or application id, or `biz:` and its business',
      examples: ['shop biz:2'],
    })
    .optional(),
};

/** What a search looks at in a record. */
export type Searched = { readonly name: string; readonly id: number; readonly biz: number | undefined };

/** Whether each word of a search finds a record. */
const finderOf = (search: string): ((record: Searched) => boolean) => {
  const words = wordsOf(search);
  return ({ name, id, biz }) => {
    const lower = name.toLowerCase();
    return words.every(
      (word) => lower.includes(word) || String(id).startsWith(word) || word === `biz:${biz}`,
    );
  };
};

/**
 * The query of a list with filters on these fields of its records. Unknown parameters are refused: a misspelt filter would return
 * all records.
 */
export const listQuerySchema = (fields: Fields) =>
  z.strictObject({
    ...pageQuery,
    ...Object.fromEntries(Object.entries(fields).map(([field, kind]) => [field, filterOf(kind).optional()])),
  });

/** The same for a list of records: those that Tidemark made for itself are in it where `system` is true, or a filter names them. */
export const recordQuerySchema = (fields: Fields) => listQuerySchema(fields).extend(systemQuery);

const naming: ReadonlySet<string> = new Set([
  'mon_data_id',
  'time_series_group_id',
  'app_id',
  'table_id',
  'name',
  'app_name',
]);

/** Whether the records that Tidemark made for itself belong into the answer. */
export const wantsSystem = (query: Readonly<Record<string, unknown>>): boolean =>
  query['system'] === true ||
  Object.entries(query).some(([field, value]) => naming.has(field) && value !== undefined);

type ListQuery = { limit: number; cursor?: string | undefined; search?: string | undefined };

type Listed<T> = {
  /** Fields that the query may name but the record does not have, computed from the record. */
  readonly derived?: Readonly<Record<string, (value: T, id: number) => unknown>>;
  readonly show: (value: T) => unknown;
  /** For the query's `search`. */
  readonly searched?: (value: T, id: number) => Searched;
  /** The ids of records that Tidemark made for itself; asked where they are hidden. */
  readonly systemIds?: () => ReadonlySet<number>;
  /** The id of the only record that the query can find; undefined where it names none. */
  readonly namedId?: number | undefined;
};

const cursorOf = (id: number): string => Buffer.from(String(id)).toString('base64url');

/** Permanent Fault `invalid_value` for what no page answered: the page behind it would look like the last one. */
const idOfCursor = (cursor: string): number => {
  const id = Number(Buffer.from(cursor, 'base64url').toString('latin1'));
  if (Number.isSafeInteger(id) && cursorOf(id) === cursor) return id;
  throw fieldFault('invalid_value', 'cursor', 'is not a next_cursor of this list');
};

/** A page of `items`, each with a higher id than the one before. Permanent Fault `invalid_value` for a cursor that no page has. */
export const pageOf = <T>(items: readonly { id: number; value: T }[], query: ListQuery): Page<T> => {
  const after = query.cursor === undefined ? Number.NEGATIVE_INFINITY : idOfCursor(query.cursor);
  const rest = items.filter(({ id }) => id > after);
  const page = rest.slice(0, query.limit);
  const last = page.at(-1);
  return {
    items: page.map(({ value }) => value),
    next_cursor: rest.length > page.length && last !== undefined ? cursorOf(last.id) : null,
  };
};

/** The integer that a query has for a field; undefined without it. */
export const askedId = (query: object, field: 'mon_data_id' | 'app_id'): number | undefined => {
  const id: unknown = Reflect.get(query, field);
  return typeof id === 'number' ? id : undefined;
};

/** All records of a kind, or that of this id alone: a page of the console asks for one every few seconds. */
const recordsOf = <T>(
  set: Pick<RecordSet<T>, 'list' | 'known'>,
  namedId: number | undefined,
): { id: number; value: T }[] => {
  if (namedId === undefined) return set.list();
  const found = set.known(namedId);
  return found === undefined ? [] : [{ id: namedId, value: found.value }];
};

/** The page of a kind of records for a valid query. */
export const listRecords = <T extends object>(
  set: Pick<RecordSet<T>, 'list' | 'known'>,
  query: ListQuery & Readonly<Record<string, unknown>>,
  { derived = {}, show, searched, systemIds = () => new Set(), namedId }: Listed<T>,
): Page<unknown> => {
  const wanted = Object.entries(query).filter(
    ([field, value]) =>
      !(field in pageQuery) && !(field in systemQuery) && !(field in searchQuery) && value !== undefined,
  );
  const hidden = wantsSystem(query) ? undefined : systemIds();
  const isHidden = (id: number): boolean => hidden?.has(id) === true;
  const isFound = finderOf(query.search ?? '');
  const isWanted = (value: T, id: number): boolean =>
    wanted.every(([field, want]) => {
      const of = derived[field];
      return (of === undefined ? Reflect.get(value, field) : of(value, id)) === want;
    });
  const { items, next_cursor } = pageOf(
    recordsOf(set, namedId).filter(
      ({ id, value }) =>
        !isHidden(id) && isWanted(value, id) && (searched === undefined || isFound(searched(value, id))),
    ),
    query,
  );
  return { items: items.map(show), next_cursor };
};
