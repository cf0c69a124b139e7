// Breaks the sources in one place at a time and runs the test that has to see it: node test/sabotage/main.ts [part of a name].
// Ends with 1 when a sabotage goes unseen, or when the code it breaks has moved.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { applyEdit, copyTree } from './edit.ts';
import { type Sabotage, sabotages } from './sabotages.ts';

const root = resolve(import.meta.dirname, '../..');
const reportSchema = z.object({
  testResults: z.array(
    z.object({
      /** Why the file as a whole did not run. */
      message: z.string().default(''),
      assertionResults: z.array(
        z.object({
          fullName: z.string(),
          status: z.string(),
          failureMessages: z.array(z.string()).default([]),
        }),
      ),
    }),
  ),
});

const firstLineOf = (text: string): string => text.trim().split('\n')[0] ?? '';

/** Runs the tests of a sabotage in this tree; answers their names by how they ended, and of those that failed the reason. */
const runTests = (
  folder: string,
  { project, file, tests }: Sabotage,
): { failed: string[]; passed: string[]; why: string } => {
  const output = join(folder, 'report.json');
  const pattern = tests.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(' > ', ' (?:> )?');
  const args = [
    'run',
    '--project',
    project,
    file,
    '-t',
    pattern,
    '--reporter=json',
    `--outputFile=${output}`,
  ];
  const { stderr } = spawnSync(join(root, 'node_modules/.bin/vitest'), args, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  const report = reportSchema.parse(JSON.parse(readFileSync(output, 'utf8')));
  const ended = (status: string): string[] =>
    report.testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .filter((result) => result.status === status)
      .map(({ fullName, failureMessages: [reason = ''] }) =>
        reason === '' ? fullName : `${fullName} (${firstLineOf(reason)})`,
      );
  // A run that fails before its files names none of them.
  const messages =
    report.testResults.length > 0 ? report.testResults.map(({ message }) => message) : [stderr];
  const why = messages.map(firstLineOf).join('; ');
  return { failed: ended('failed'), passed: ended('passed'), why };
};

/** What came of one: undefined when its test saw it. */
const survived = (sabotage: Sabotage): string | undefined => {
  const folder = copyTree();
  try {
    for (const edit of sabotage.edits) applyEdit(folder, edit);
    const { failed, passed, why } = runTests(folder, sabotage);
    if (failed.length > 0) {
      process.stdout.write(`seen      ${sabotage.name}: ${failed.join('; ')}\n`);
      return undefined;
    }
    return passed.length > 0 ? `nothing failed of ${passed.join('; ')}` : `no test ran ${why}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const wanted = process.argv[2] ?? '';
let unseen = 0;
for (const sabotage of sabotages.filter(({ name }) => name.includes(wanted))) {
  const why = survived(sabotage);
  if (why === undefined) continue;
  unseen++;
  process.stdout.write(`NOT SEEN  ${sabotage.name}: ${why}\n`);
}
process.exitCode = unseen === 0 ? 0 : 1;
