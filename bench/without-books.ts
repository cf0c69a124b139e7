import { applyEdit, copyTree, type Edit } from '../test/sabotage/edit.ts';

/**
 * What the two books and usage do (architecture 10.1, 10.2), taken out of the sources, for a measurement of their cost. Outcomes are
 * recorded as before the books: one record for each message and owner.
 */
export const withoutBooks: readonly Edit[] = [
  {
    file: 'src/outcomes/publishers-book.ts',
    from: '    this.life ??= this.options.life();\n    if (this.life === undefined ||',
    to: '    this.life = undefined;\n    if (this.life === undefined ||',
  },
  {
    file: 'src/transfer/record-outcomes.ts',
    from: '  return settledLines(\n    pipeline,\n    records,',
    to: '  if (records.length >= 0) return records;\n  return settledLines(\n    pipeline,\n    records,',
  },
  { file: 'src/outcomes/ledger.ts', from: 'ledgerSubjects.settled', to: 'ledgerSubjects.outcomes' },
  // The same short way to the text of a record, which has no place.
  {
    file: 'src/outcomes/ledger.ts',
    from: `"at":"\${line.at}","stream":\${JSON.stringify(line.stream)}\` +`,
    to: `"at":"\${line.at}"}\``,
  },
  {
    file: 'src/outcomes/ledger.ts',
    from: `
    \`,"life":\${line.life},"serial":\${line.serial},"sent":"\${line.sent}","sequence":\${line.sequence}\` +
    \`,"owners":\${line.owners},"items":\${line.items}\` +
    numbersText('letters', line.letters) +
    numbersText('letter_items', line.letter_items) +
    numbersText('days', line.days) +
    numbersText('day_rows', line.day_rows) +
    \`\${sums}}\``,
    to: '',
  },
  {
    file: 'src/outcomes/usage-book.ts',
    from: '    const counted = this.countedOf(pipeline, owner, Math.floor(arrivedAt / minuteMs));',
    to: '    if (owner >= 0) return;\n    const counted = this.countedOf(pipeline, owner, Math.floor(arrivedAt / minuteMs));',
  },
  {
    file: 'src/metadata/account/account-watch.ts',
    from: 'while (!stopping.signal.aborted) {',
    to: 'while (false) {',
  },
];

/** A copy of this tree without the books, in a new folder. */
export const copyWithoutBooks = (): string => {
  const folder = copyTree();
  for (const edit of withoutBooks) applyEdit(folder, edit);
  return folder;
};
