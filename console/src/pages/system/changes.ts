// What an audit entry changed, field by field: without the browser, so that it can be tested.

/** A field before and after an act; undefined where the record has no such field. */
export type FieldChange = {
  readonly field: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
};

const depthMax = 4;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Paths and texts of a value's leaves. A Map: names in it are chosen by users. */
const leavesOf = (
  value: unknown,
  path = '',
  depth = 0,
  into = new Map<string, string>(),
): Map<string, string> => {
  const isDeeper =
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    depth < depthMax &&
    Object.keys(value).length > 0;
  if (isDeeper)
    for (const [name, each] of Object.entries<unknown>({ ...value }))
      leavesOf(each, path === '' ? name : `${path}.${name}`, depth + 1, into);
  else if (value !== undefined && (path !== '' || value !== null)) into.set(path, textOf(value));
  return into;
};

/** Who changed it and when: the entry itself has that. */
const isAuthorship = (field: string): boolean => field.startsWith('last_modify_');

/** The fields that differ, in the order of the record. */
export const fieldChanges = (before: unknown, after: unknown): FieldChange[] => {
  const old = leavesOf(before);
  const now = leavesOf(after);
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((field) => ({ field, before: old.get(field), after: now.get(field) }))
    .filter((change) => change.before !== change.after && !isAuthorship(change.field));
};
