import { type Reason, reasons } from '../../src/model/reasons.ts';

const fixableByNames: Readonly<Record<Reason['fixableBy'], string>> = {
  sender: 'sender',
  operator: 'operator',
  tidemark: 'Tidemark',
};

const sections: readonly (readonly [title: string, about: string, isIn: (reason: Reason) => boolean])[] = [
  [
    'Items dropped at the receiver',
    'The answer names them. A point is dropped from its request; a span is rejected in the partial success.',
    ({ of, stage }) => of === 'item' && stage === 'receiver',
  ],
  [
    'Items dropped or dead-lettered in transfer',
    'The answer warns about an invalid time; transfer validates it and drops the item. A dead letter is kept with its bytes in DEADLETTER.',
    ({ of, stage }) => of === 'item' && stage === 'transfer',
  ],
  ['Values of kept items', 'The item is stored without them.', ({ of }) => of === 'value'],
  ['Whole requests', 'Nothing of the request is stored.', ({ of }) => of === 'request'],
];

/** The first row of a code has its anchor, which answers link to (TIDEMARK_DOCS_URL). */
const anchorOf = (reason: Reason): string =>
  sections.flatMap(([, , isIn]) => reasons.filter(isIn)).find(({ code }) => code === reason.code) === reason
    ? `<a id="${reason.code}"></a>`
    : '';

/** docs/reasons.md: every row of the closed table, by the kind of thing that it applies to. */
export const reasonDocument = (): string =>
  [
    '# Reasons',
    '',
    '`make docs` writes this page from `src/model/reasons.ts` and `src/model/reasons`.',
    '',
    'Every item, value or request that is dropped, deferred, dead-lettered or refused has one of these codes, the same one in answers,',
    'metrics, samples and dead letters. `tidemark explain <code>` prints its row. Where `TIDEMARK_DOCS_URL` names the address of this',
    'page, the messages of answers link to the row.',
    ...sections.flatMap(([title, about, isIn]) => [
      '',
      `## ${title}`,
      '',
      about,
      '',
      '| code | meaning | remedy | who |',
      '|---|---|---|---|',
      ...reasons
        .filter(isIn)
        .map(
          (reason) =>
            `| ${anchorOf(reason)}\`${reason.code}\` | ${reason.meaning.replaceAll('|', '\\|')} | ${reason.remedy.replaceAll('|', '\\|')} | ${fixableByNames[reason.fixableBy]} |`,
        ),
    ]),
    '',
  ].join('\n');
