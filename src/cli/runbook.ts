import type { Command } from 'commander';
import { readRunbook } from '../config/runbook.ts';
import { Fault } from '../model/fault.ts';
import { nearestName } from '../model/nearest-name.ts';
import { addJsonOption, type JsonOption } from './options.ts';
import { printCode, printJson, printLine } from './output.ts';

const print = (name: string | undefined, { json }: JsonOption): void => {
  const entries = readRunbook();
  if (name === undefined) {
    if (json) return printJson({ items: entries.map(({ text: _, ...heading }) => heading) });
    for (const { title } of entries) printLine(title);
    return;
  }
  // As an answer of the API names it: docs/runbook.md#tidemarklag.
  const wanted = name.replace(/^.*#/, '').toLowerCase();
  const entry = entries.find((each) => each.name === wanted);
  if (entry === undefined) {
    const names = entries.map((each) => each.name);
    const near = entries.find((each) => each.name === nearestName(wanted, names));
    const meant = near === undefined ? '' : ` (Did you mean ${near.title}?)`;
    throw new Fault(
      'permanent',
      'not_found',
      `no entry ${JSON.stringify(name)} in the runbook${meant}; tidemark runbook lists all entries`,
    );
  }
  if (json) return printJson(entry);
  printCode(`${entry.title}\n\n${entry.text}`);
};

/** `tidemark runbook [alarm]`: docs/runbook.md in the terminal; it needs no running deployment. */
export const register = (program: Command): void => {
  const command = program
    .command('runbook')
    .description('print what an alarm means and what to do; without a name, list all alarms')
    .argument('[alarm]', 'such as TidemarkLag, in any case');
  addJsonOption(command).action(print);
};
