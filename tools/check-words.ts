import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// The word list of docs/glossary.md, held by `make check`: words that another one replaces, and phrases without a subject.

const root = join(import.meta.dirname, '..');

type Word = { readonly pattern: RegExp; readonly instead: string };

const words: readonly Word[] = [
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
  { pattern: /\bby turns\b/gi, instead: 'in turn' },
  { pattern: /\bpast the guard\b/gi, instead: 'without the guard' },
  { pattern: /\bdear(?:er|est)\b/gi, instead: 'more expensive, most expensive' },
  { pattern: /\bunheard\b/gi, instead: 'without an answer' },
  { pattern: /\bnobody is told\b/gi, instead: 'no answer reports it' },
  { pattern: /\bnobody meant\b/gi, instead: 'has no meaning' },
  {
    pattern: /\b(?:are asked|said of|as told)\b/gi,
    instead: 'a subject and what it does: check, apply, read',
  },
  { pattern: /\bheld against\b/gi, instead: 'compare with' },
  { pattern: /\bc(?:ame|omes?|oming) of it\b/gi, instead: 'result' },
  { pattern: /\bhas to be there\b/gi, instead: 'must exist, must be complete' },
  { pattern: /\bmeans harm\b/gi, instead: 'attack' },
  { pattern: /\banother matter\b/gi, instead: 'what differs' },
  { pattern: /\bwhoever\b/gi, instead: 'a sender, a reader, a process that …' },
  { pattern: /\bpass(?:es|ed|ing)? over\b/gi, instead: 'skip' },
  { pattern: /\btold apart\b/gi, instead: 'distinguish' },
  { pattern: /\b(?:tells?|told|hears?|heard) of\b/gi, instead: 'report, receive' },
  { pattern: /\b(?:is|are|was|were|be|been) told\b/gi, instead: 'gets, receives, is reported' },
  { pattern: /\bstands? still\b/gi, instead: 'stalls, waits, stops' },
  { pattern: /\bnobody['’]s\b/gi, instead: 'without an owner, unused' },
  { pattern: /\bsomebody else\b/gi, instead: 'another user, another process' },
  { pattern: /\bgo(?:es)? on by itself\b/gi, instead: 'continues by itself' },
  { pattern: /\bin its own words\b/gi, instead: 'with its own errors' },
  { pattern: /\bwithout hands\b/gi, instead: 'by itself' },
];

/** The page that lists the words, and files that still have some. */
const allowed = [
  /^docs\/glossary\.md$/,
  /^schemas\/examples\/stored\//,
  // The words of the API.
  /^console\/src\/api\/schema\.d\.ts$/,
  // Names in its code.
  /^test\/fuzz\/cost\/search\.ts$/,
  // Its text is a log line of transfer.
  /^test\/faults\/broken-table\.test\.ts$/,
];

const isOneOf = (file: string, places: readonly RegExp[]): boolean =>
  places.some((place) => place.test(file));

const files = execFileSync(
  'git',
  [
    'ls-files',
    '--',
    ...['src', 'console', 'test', 'docs', 'README.md', 'CONTRIBUTING.md'],
    ...['pipelines', 'deploy', 'schemas/examples'],
  ],
  { cwd: root, encoding: 'utf8' },
)
  .split('\n')
  .filter((file) => /\.(?:tsx?|md|ya?ml|json|sh|mjs)$/.test(file))
  .filter((file) => !isOneOf(file, allowed));

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
