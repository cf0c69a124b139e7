import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What an operator does about one alarm. */
export type RunbookEntry = {
  /** The alarm in small letters: the anchor of its heading. */
  readonly name: string;
  /** The alarm. */
  readonly title: string;
  /** Markdown, without the heading. */
  readonly text: string;
};

/** The entries of docs/runbook.md, in their order. */
export const readRunbook = (): RunbookEntry[] =>
  readFileSync(join(import.meta.dirname, '../../docs/runbook.md'), 'utf8')
    .split(/^### /m)
    .slice(1)
    .map((entry) => {
      // The heading of the next chapter is no part of the entry before it.
      const [title = '', ...lines] = (entry.split('\n## ')[0] ?? '').trim().split('\n');
      return { name: title.trim().toLowerCase(), title: title.trim(), text: lines.join('\n').trim() };
    });
