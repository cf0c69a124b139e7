import { z } from 'zod';
import { unseenIn, unseenInWords } from '../../model/visible-text.ts';

// Texts that people write into records. None of them may hold terminal control characters or invisible characters. Length limits
// come first: no other check reads a text that is too long.

const lengthMin = (schema: z.ZodString, least: 0 | 1): z.ZodString =>
  least === 0 ? schema : schema.min(least, 'must not be empty');

const bounded = (least: 0 | 1, lengthMax: number, schema = z.string('must be text')): z.ZodString =>
  lengthMin(schema, least).max(lengthMax, {
    error: `must have at most ${lengthMax} characters`,
    abort: true,
  });

const without =
  (find: (text: string) => string | undefined) =>
  (schema: z.ZodString): z.ZodString =>
    schema.refine((text) => find(text) === undefined, {
      error: ({ input }) =>
        `must not contain control, bidirectional or invisible characters: ${find(String(input))} is one`,
    });

const seen = without(unseenIn);

/** Text for people in one line: a description. It may have the joiners that some scripts need. */
export const words = (lengthMax: number): z.ZodString => without(unseenInWords)(bounded(0, lengthMax));

/** A label of a word or two for a person or a thing. */
export const labelText = (lengthMax: number): z.ZodString => seen(bounded(1, lengthMax));

/** A name: it becomes part of other names and of messages, so its ends must be visible, too. */
export const nameText = (lengthMax: number): z.ZodString =>
  labelText(lengthMax).refine((text) => text.trim() === text, 'must not begin or end with white space');

/** A text of at most 128 characters of a given form; the form decides whether it may be empty. */
export const formText = (form: RegExp, why: string): z.ZodString => seen(bounded(0, 128)).regex(form, why);

/** The word between an operator and the token; it may be in neither of them, so that one cannot pass for the other. */
const link = 'via';

const withoutLink = (schema: z.ZodString): z.ZodString =>
  schema.refine(
    (text) => !text.normalize('NFKC').toLowerCase().split(/\s+/).includes(link),
    `must not contain the word ${link}, which stands before the name of the token`,
  );

const authorLengthMax = 64;

/** The operator that a request names: not verified, any caller may name anyone. */
export const operatorText = (): z.ZodString => withoutLink(nameText(authorLengthMax));

/** The name of an admin token; white space at its ends is removed. */
export const tokenName = (): z.ZodString =>
  withoutLink(seen(bounded(1, authorLengthMax, z.string('must be text').trim())));

/**
 * The recorded author: the name of the token, with the operator that the request names before it. No caller can pass for a token by
 * naming it as operator.
 */
export const authorOf = (operator: string | undefined, token: string): string =>
  operator === undefined || operator === token ? token : `${operator} ${link} ${token}`;
