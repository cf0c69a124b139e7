import { codeBlocksOf, readDocument } from '../docs-code.ts';

const page = codeBlocksOf(readDocument('docs/kubernetes.md'));

/** The code of a block of the page: the `index`th of its language under the heading. Throws where the page has none. */
export const blockOf = (heading: string, index = 0, language = 'sh'): string => {
  const found = page.filter((block) => block.heading === heading && block.language === language)[index];
  if (found === undefined)
    throw new Error(`docs/kubernetes.md has no block ${index} of ${language} under "${heading}"`);
  return found.code;
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
