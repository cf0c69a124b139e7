import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// The word list of docs/glossary.md, held by `make check`: words that another one replaces, and phrases without a subject.

const root = join(import.meta.dirname, '..');

const words: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  { pattern: /\banew\b/gi, instead: 'again; or a verb: restart, recreate, reload' },
  { pattern: /\bso many\b/gi, instead: 'this many, or the name of the number' },
  { pattern: /\bwhatever\b/gi, instead: 'any, every, regardless of' },
  { pattern: /\bto be seen\b/gi, instead: 'visible' },
  { pattern: /\bof ours\b/gi, instead: 'of Tidemark' },
  { pattern: /\b(?:set|put)(?:s|ting)? aside\b/gi, instead: 'dead-letter; of a table: unavailable' },
  { pattern: /\bboot numbers?\b/gi, instead: 'epoch' },
  { pattern: /\btime-outs?\b/gi, instead: 'timeout' },
  { pattern: /\bturn(?:s|ed)? away\b/gi, instead: 'refuse' },
  { pattern: /\bis no (?:JSON|HTTP|write token)\b/gi, instead: 'is not valid …' },
];

/** The page that lists the words, and sources whose comments still have some. */
const allowed = [
  /^docs\/glossary\.md$/,
  /^schemas\/examples\/stored\//,
  /^src\/ingress\/http\/inflate\.ts$/,
  /^src\/rules\/points\/push-scan\.ts$/,
  /^src\/wire\/otlp\/json-cursor\.ts$/,
];

const files = execFileSync(
  'git',
  ['ls-files', '--', 'src', 'docs', 'README.md', 'pipelines', 'deploy', 'schemas/examples'],
  { cwd: root, encoding: 'utf8' },
)
  .split('\n')
  .filter((file) => /\.(?:ts|md|ya?ml|json|sh|mjs)$/.test(file))
  .filter((file) => !allowed.some((place) => place.test(file)));

/** Between two words: blanks, or the end of a line and the mark of a comment. */
const between = String.raw`(?:[ \t]+|[ \t]*\n[ \t]*(?:\*(?!\/)|\/\/|#)?[ \t]*)`;

const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length;

const problems = files.flatMap((file) => {
  const text = readFileSync(join(root, file), 'utf8');
  return words.flatMap(({ pattern, instead }) =>
    [...text.matchAll(new RegExp(pattern.source.replaceAll(' ', between), pattern.flags))].map(
      ({ index, 0: found }) =>
        `${file}:${lineOf(text, index)}: "${found.replaceAll(/\s+[*/#]*\s*/g, ' ')}": write ${instead}`,
    ),
  );
});

if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n${problems.length} words that docs/glossary.md replaces\n`);
  process.exitCode = 1;
}
