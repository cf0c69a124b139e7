import type { z } from 'zod';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];
/** A text that the contract does not have, and the one that stands for it while the answer is read. */
type Unknown = { readonly path: Path; readonly text: string; readonly standIn: string };

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const partAt = (value: unknown, path: Path): unknown => {
  let part = value;
  for (const key of path) part = isObject(part) ? Reflect.get(part, key) : undefined;
  return part;
};

const putAt = (value: unknown, path: Path, text: string): boolean => {
  const [parent, key] = [partAt(value, path.slice(0, -1)), path.at(-1)];
  return isObject(parent) && key !== undefined && Reflect.set(parent, key, text);
};

const unknownText = (known: unknown, values: readonly unknown[], path: Path): Unknown[] | undefined => {
  const text = partAt(known, path);
  const standIn = values.find((value) => typeof value === 'string');
  return typeof text === 'string' && standIn !== undefined ? [{ path, text, standIn }] : undefined;
};

/** The texts of an answer that the contract does not have, where all issues are of such texts or of further fields; else undefined. */
const unknownTexts = (known: unknown, issues: readonly Issue[], at: Path = []): Unknown[] | undefined => {
  const found: Unknown[] = [];
  for (const issue of issues) {
    const path = [...at, ...issue.path];
    let own: Unknown[] | undefined;
    if (issue.code === 'unrecognized_keys') own = [];
    else if (issue.code === 'invalid_value') own = unknownText(known, issue.values, path);
    else if (issue.code === 'invalid_union')
      own = issue.errors.map((each) => unknownTexts(known, each, path)).find((each) => each !== undefined);
    if (own === undefined) return undefined;
    found.push(...own);
  }
  return found;
};

const dropFields = (known: unknown, issues: readonly Issue[]): void => {
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue;
    const part = partAt(known, issue.path);
    if (isObject(part)) for (const key of issue.keys) Reflect.deleteProperty(part, key);
  }
};

/**
 * Reads an answer by its contract, as far as a newer metadata has not changed it: fields that it has added are left out, and a text of
 * a closed list that it has added stays as it is. So no list of texts in what is read is complete, also where its type says so.
 */
export const readAnswer = <T>(schema: z.ZodType<T>, value: unknown): z.ZodSafeParseResult<T> => {
  const read = schema.safeParse(value);
  if (read.success) return read;
  const texts = unknownTexts(value, read.error.issues);
  if (texts === undefined) return read;
  const known = structuredClone(value);
  dropFields(known, read.error.issues);
  if (!texts.every(({ path, standIn }) => putAt(known, path, standIn))) return read;
  const mended = schema.safeParse(known);
  if (!mended.success) return mended;
  const isBack = texts.every(
    ({ path, text, standIn }) => partAt(mended.data, path) === standIn && putAt(mended.data, path, text),
  );
  return isBack ? mended : read;
};
