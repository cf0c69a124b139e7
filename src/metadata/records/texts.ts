import { z } from 'zod';
import { unseenIn, unseenInWords } from '../../model/visible-text.ts';

// Texts that people write into records. What a terminal obeys or a reader cannot see is no part of any of them. Bounds come first:
// nothing else looks at a text that is too long.

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

/** Words for people in one line: a description. They may have the joiners that some scripts are written with. */
export const words = (lengthMax: number): z.ZodString => without(unseenInWords)(bounded(0, lengthMax));

/** A word or two that somebody is known by. */
export const labelText = (lengthMax: number): z.ZodString => seen(bounded(1, lengthMax));

/** What something is called: it becomes part of other names and of messages, so its ends must be visible, too. */
export const nameText = (lengthMax: number): z.ZodString =>
  labelText(lengthMax).refine((text) => text.trim() === text, 'must not begin or end with white space');

/** A text that has a form, or none at all. */
export const formText = (lengthMax: number, form: RegExp, why: string): z.ZodString =>
  seen(bounded(0, lengthMax)).regex(form, why);

/** What stands between an operator and the token; in neither of them, or one could be taken for the other. */
const link = 'via';

const withoutLink = (schema: z.ZodString): z.ZodString =>
  schema.refine(
    (text) => !text.normalize('NFKC').toLowerCase().split(/\s+/).includes(link),
    `must not contain the word ${link}, which stands before the name of the token`,
  );

const authorLengthMax = 64;

/** Who asks, as the request says: anybody may say anything. */
export const operatorText = (): z.ZodString => withoutLink(nameText(authorLengthMax));

/** What an admin token is called; white space at its ends is removed. */
export const tokenName = (): z.ZodString =>
  withoutLink(seen(bounded(1, authorLengthMax, z.string('must be text').trim())));

/**
 * Who is recorded as the author: the name of the token, with the operator that the request names before it. Nobody can be taken for
 * a token by naming it.
 */
export const authorOf = (operator: string | undefined, token: string): string =>
  operator === undefined || operator === token ? token : `${operator} ${link} ${token}`;
