// What a terminal shows of a text, in columns: Chinese, Japanese and Korean characters and emoji take two, marks that
// combine with the character before them none. Source: Unicode Standard Annex 11 (East Asian Width W and F).

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const ascii = /^[\x20-\x7e]*$/;

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

const columnsOf = (grapheme: string): number => {
  if (/^\p{M}*$/u.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
};

/** Columns that a terminal needs for a line of text without control characters. */
export const columnsFor = (text: string): number => {
  if (ascii.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of segmenter.segment(text)) columns += columnsOf(segment);
  return columns;
};

/** The text with spaces up to this many columns. */
export const padTo = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - columnsFor(text)));

/** As much of the beginning of a text as fits, and the rest. The first part has at least one character. */
const splitAt = (text: string, columns: number): [string, string] => {
  let used = 0;
  let end = 0;
  let afterSpace = 0;
  for (const { segment, index } of segmenter.segment(text)) {
    used += columnsOf(segment);
    if (used > columns && index > 0) {
      const at = afterSpace > 0 ? afterSpace : end;
      return [text.slice(0, at).trimEnd(), text.slice(at).trimStart()];
    }
    end = index + segment.length;
    if (segment === ' ') afterSpace = end;
  }
  return [text, ''];
};

/** The text in lines of at most this many columns, broken at spaces where there are some; nothing is lost but these. */
export const wrapped = (text: string, columns: number): string[] => {
  const lines: string[] = [];
  let rest = text;
  do {
    const [line, more] = columnsFor(rest) <= columns ? [rest, ''] : splitAt(rest, columns);
    lines.push(line);
    rest = more;
  } while (rest !== '');
  return lines;
};

/** The text, or its beginning with an ellipsis, in at most this many columns. */
export const cutTo = (text: string, columns: number): string => {
  if (columnsFor(text) <= columns) return text;
  let out = '';
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    used += columnsOf(segment);
    if (used > columns - 1) break;
    out += segment;
  }
  return `${out}…`;
};
