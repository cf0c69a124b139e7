/**
 * The most characters of untrusted text that a regular expression reads; some expressions would take hours for a body
 * of megabytes.
 */
export const patternTextMax = 2_048;

/** Whether a text has a form; a text beyond the limit of expressions has none. */
export const hasForm = (pattern: RegExp, text: string): boolean =>
  text.length <= patternTextMax && pattern.test(text);

/** The end of a truncated text. */
export const ellipsis = '…';

/** The text, or its beginning with an ellipsis where it exceeds the limit of expressions. */
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

/** What is wrong with a value, in words: `detail`, and the value as it was sent where `got` shows it. */
export const exampleText = ({ detail, got }: { readonly detail: string; readonly got: string }): string =>
  [detail, got === '' ? '' : `got ${got}`].filter((text) => text !== '').join(', ');
