/** A block of commands in a chapter, and their output where the chapter shows it. */
export type Block = {
  readonly line: number;
  readonly commands: string;
  readonly printed: string | undefined;
};

const fence = /^```(\w*)\n([\s\S]*?)^```$/gm;

/** The `sh` blocks of a Markdown text, each with the `text` block that follows it before any other. */
export const blocksOf = (markdown: string): Block[] => {
  const blocks: Block[] = [];
  let last: { line: number; commands: string } | undefined;
  for (const { 1: language, 2: content = '', index } of markdown.matchAll(fence)) {
    if (language === 'text' && last !== undefined) {
      blocks.splice(-1, 1, { ...last, printed: content });
    }
    last = undefined;
    if (language !== 'sh') continue;
    last = { line: markdown.slice(0, index).split('\n').length + 1, commands: content };
    blocks.push({ ...last, printed: undefined });
  }
  return blocks;
};

/** One line for comparison: how wide a column is depends on what `…` stands for. */
const tidy = (line: string): string => line.replaceAll(/\s+/g, ' ').trim();

const linesOf = (text: string): string[] => text.trim().split(/\r?\n/).map(tidy);

const isAs = (actual: string, expected: string): boolean => {
  const pattern = expected.split('…').map(RegExp.escape).join('.+');
  return new RegExp(`^${pattern}$`).test(actual);
};

/** The output, with `…` where the chapter has it; equal to the chapter exactly when the output matches. */
export const asInChapter = (printed: string, chapter: string): string[] => {
  const expected = linesOf(chapter);
  return linesOf(printed).map((line, index) => {
    const wanted = expected[index];
    return wanted !== undefined && isAs(line, wanted) ? wanted : line;
  });
};

/** The lines of a chapter as `asInChapter` answers them. */
export const chapterLines = linesOf;
