import type { z } from 'zod';

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Reads an answer by its contract, and leaves out the fields that a newer metadata has added. */
export const readAnswer = <T>(schema: z.ZodType<T>, value: unknown): z.ZodSafeParseResult<T> => {
  const read = schema.safeParse(value);
  if (read.success) return read;
  const known = structuredClone(value);
  for (const issue of read.error.issues) {
    if (issue.code !== 'unrecognized_keys') return read;
    let part: unknown = known;
    for (const key of issue.path) part = isObject(part) ? Reflect.get(part, key) : undefined;
    if (isObject(part)) for (const key of issue.keys) Reflect.deleteProperty(part, key);
  }
  return schema.safeParse(known);
};
