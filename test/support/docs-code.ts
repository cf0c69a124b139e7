import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The folder of the repository. */
export const root = resolve(import.meta.dirname, '../..');

/** Every document, by its path in the repository. */
export const documents: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...['docs', 'deploy'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
      .map((name) => join(folder, name)),
  ),
];

export const readDocument = (path: string): string => readFileSync(join(root, path), 'utf8');

/** The lines of its code: of blocks unchanged, of spans one each. Prose may contain "make room". */
export const codeOf = (text: string): string[] => {
  const fence = /^```[^\n]*\n(.*?)^```/gms;
  const blocks = [...text.matchAll(fence)].flatMap(([, block = '']) =>
    block.replaceAll('\\\n', ' ').split('\n'),
  );
  const spans = [...text.replace(fence, '').matchAll(/`([^`\n]+(?:\n[^`\n]+)?)`/g)].map(([, span = '']) =>
    span.replace('\n', ' '),
  );
  return [...blocks, ...spans].map((line) => line.replaceAll('\\|', '|').replace(/(^|\s)#.*/, ''));
};

/** The commands for a cluster or a container engine among its lines. */
export const clusterCommandsOf = (text: string): string[] => [
  ...new Set(
    codeOf(text).flatMap((line) =>
      /^(?:kubectl (?:-n |[a-z])|helm |docker )/.test(line.trim()) ? [line.trim().replace(/ +/g, ' ')] : [],
    ),
  ),
];

/** A fenced block of a document and the headings over it: `chapter` of the second level, `heading` the nearest of any. */
export type CodeBlock = {
  readonly chapter: string;
  readonly heading: string;
  readonly language: string;
  readonly code: string;
};

/** The fenced blocks of a Markdown text, in their order. */
export const codeBlocksOf = (markdown: string): CodeBlock[] => {
  let chapter = '';
  let heading = '';
  return [...markdown.matchAll(/^(##+) (.*)$|^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(
    ([, level, title = '', language = '', code = '']) => {
      if (level === undefined) return [{ chapter, heading, language, code }];
      heading = title;
      if (level === '##') chapter = title;
      return [];
    },
  );
};
