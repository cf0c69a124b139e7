import type { Command } from 'commander';
import { explainAll, type Reason, reasons } from '../model/reasons.ts';
import { addJsonOption, type JsonOption } from './options.ts';
import { printFields, printJson, printLine, printTable } from './output.ts';
import { unknownReason } from './reason.ts';

const fixableByNames: Readonly<Record<Reason['fixableBy'], string>> = {
  sender: 'the sender',
  operator: 'the operator',
  tidemark: 'the developers of Tidemark',
};

const print = (rows: readonly Reason[]): void => {
  for (const [index, { code, of, stage, fixableBy, meaning, remedy }] of rows.entries()) {
    if (index > 0) printLine('');
    printFields([
      ['code', code],
      ['applies to', of === 'value' ? 'a value of a kept item' : `a whole ${of}`],
      ['stage', stage === 'receiver' ? 'the receiver' : 'transfer'],
      ['meaning', meaning],
      ['remedy', remedy],
      ['who', fixableByNames[fixableBy]],
    ]);
  }
};

const explain = (code: string | undefined, { json }: JsonOption): void => {
  const rows = code === undefined ? reasons : explainAll(code);
  if (code !== undefined && rows.length === 0) throw unknownReason(code);
  if (json) return printJson({ items: rows });
  if (code !== undefined) return print(rows);
  printTable(
    ['CODE', 'OF', 'STAGE', 'MEANING'],
    rows.map((row) => [row.code, row.of, row.stage, row.meaning]),
  );
};

/** `tidemark explain [code]`: the closed table of reasons; it needs no running deployment. */
export const register = (program: Command): void => {
  const command = program
    .command('explain')
    .description('print meaning and remedy of a reason; without a code, list all reasons')
    .argument('[code]', 'code of an answer, a metric or a dead letter');
  addJsonOption(command).action(explain);
};
