import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../../..');

type Block = { readonly language: string; readonly text: string };

/** The blocks of code under each heading of `docs/kubernetes.md`, in their order. */
const blocksOfPage = (): ReadonlyMap<string, Block[]> => {
  const sections = new Map<string, Block[]>();
  let heading = '';
  let block: { language: string; lines: string[] } | undefined;
  for (const line of readFileSync(join(root, 'docs/kubernetes.md'), 'utf8').split('\n')) {
    if (block !== undefined) {
      if (line === '```') {
        sections.set(heading, [
          ...(sections.get(heading) ?? []),
          { language: block.language, text: block.lines.join('\n') },
        ]);
        block = undefined;
      } else block.lines.push(line);
    } else if (line.startsWith('```')) block = { language: line.slice(3), lines: [] };
    else if (line.startsWith('#')) heading = line.replace(/^#+ /, '');
  }
  return sections;
};

const page = blocksOfPage();

/** The text of a block of the page: the `index`th of its language under the heading. Throws where the page has none. */
export const blockOf = (heading: string, index = 0, language = 'sh'): string => {
  const found = page.get(heading)?.filter((block) => block.language === language)[index];
  if (found === undefined)
    throw new Error(`docs/kubernetes.md has no block ${index} of ${language} under "${heading}"`);
  return found.text;
};

/** The commands of a block without those that need what no registry of packages has: charts, and a registry of images. */
export const withoutCharts = (commands: string): string =>
  commands
    .split('\n')
    .filter((line) => !/^(helm|docker) /.test(line))
    .join('\n');

/** The image of the page's overlay, and the tags of its first installation and of its upgrade. */
export const image = 'registry.example.com/tidemark';
export const presentTag = '0.1.0';
export const laterTag = '0.2.0';
