import { z } from 'zod';

/** The rule that a part was made by, so that another part of the same rule can take its place, and its part of the room. */
type Tagged = { readonly is?: string | undefined; readonly share?: number | undefined };

/** Bytes as hexadecimal digits. */
export type HexPart = Tagged & { readonly hex: string };
/** Bytes of an alphabet (`0-9a-f`) that look random and are always the same; as many as fit, or this many. */
export type NoisePart = Tagged & { readonly noise: string; readonly bytes?: number | undefined };
/** One part behind the other. */
export type AllPart = Tagged & { readonly all: readonly Part[]; readonly between?: string | undefined };
/** A repeated part: as often as it fits, or this many times. Each may grow to this many bytes. */
export type RepeatPart = Tagged & {
  readonly repeat: Part;
  readonly times?: number | undefined;
  readonly each?: number | undefined;
  readonly between?: string | undefined;
};
/** A part within this many pairs of texts, or as many as fit. */
export type NestPart = Tagged & {
  readonly nest: readonly [open: string, close: string];
  readonly of: Part;
  readonly depth?: number | undefined;
};
/**
 * A part within length-delimited fields of protobuf, the outermost first; the whole path this many times, or as often
 * as it fits.
 */
export type FieldsPart = Tagged & {
  readonly fields: readonly number[];
  readonly of: Part;
  readonly depth?: number | 'room' | undefined;
};

/**
 * What a body is made of. A text stands for itself, but `#` in it is the number of the repetition around it, so that repeated parts can
 * differ.
 */
export type Part = string | HexPart | NoisePart | AllPart | RepeatPart | NestPart | FieldsPart;

const tagged = { is: z.string().optional(), share: z.number().positive().optional() };
const count = z.number().int().nonnegative().optional();

export const partSchema: z.ZodType<Part> = z.lazy(() =>
  z.union([
    z.string(),
    z.strictObject({ ...tagged, hex: z.string().regex(/^(?:[0-9a-f]{2})*$/) }),
    z.strictObject({ ...tagged, noise: z.string().min(1), bytes: count }),
    z.strictObject({ ...tagged, all: z.array(partSchema), between: z.string().optional() }),
    z.strictObject({
      ...tagged,
      repeat: partSchema,
      times: count,
      each: count,
      between: z.string().optional(),
    }),
    z.strictObject({ ...tagged, nest: z.tuple([z.string(), z.string()]), of: partSchema, depth: count }),
    z.strictObject({
      ...tagged,
      fields: z.array(z.number().int().positive()).min(1),
      of: partSchema,
      depth: z.union([z.number().int().nonnegative(), z.literal('room')]).optional(),
    }),
  ]),
);

/** A part of a body, and the body with another part in its place. */
export type Place = { readonly part: Part; readonly with: (other: Part) => Part };

const innerPlaces = (part: Part, around: (other: Part) => Part): Place[] => {
  if (typeof part === 'string') return [];
  if ('all' in part) {
    return part.all.flatMap((each, index) =>
      placesOf(each, (other) => around({ ...part, all: part.all.with(index, other) })),
    );
  }
  if ('repeat' in part) return placesOf(part.repeat, (other) => around({ ...part, repeat: other }));
  if ('of' in part) return placesOf(part.of, (other) => around({ ...part, of: other }));
  return [];
};

/** Every part of a body, the whole first. */
export const placesOf = (part: Part, around: (other: Part) => Part = (other) => other): Place[] => [
  { part, with: around },
  ...innerPlaces(part, around),
];

export const ruleOf = (part: Part): string | undefined => (typeof part === 'string' ? undefined : part.is);
