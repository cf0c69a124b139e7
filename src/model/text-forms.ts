/** No regular expression looks through more characters of what came from outside; some would take hours for a body of megabytes. */
export const patternTextMax = 2_048;

/** Whether a text has a form; one that is longer than any expression looks through has none. */
export const hasForm = (pattern: RegExp, text: string): boolean =>
  text.length <= patternTextMax && pattern.test(text);

/** What stands behind a text that was cut. */
export const ellipsis = '…';

/** The text, or its beginning with an ellipsis where it is longer than what expressions look through. */
export const headOf = (text: string): string =>
  text.length <= patternTextMax ? text : `${text.slice(0, patternTextMax - 1)}${ellipsis}`;

/** The beginning of a text, at most `lengthMax` characters of it, without line breaks. */
export const oneLine = (text: string, lengthMax: number): string =>
  text.slice(0, patternTextMax).replace(/\s+/g, ' ').trim().slice(0, lengthMax);

/** The token in `Authorization: Bearer <token>`; undefined for any other header. */
export const bearerToken = (header: string | undefined): string | undefined =>
  /^bearer[ \t]+(\S+)[ \t]*$/i.exec(
    header === undefined || header.length > patternTextMax ? '' : header,
  )?.[1];
