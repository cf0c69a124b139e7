import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

// No function of the sources goes beyond 100 lines of code. Beyond 60 biome wants a reason (`biome-ignore`); here no reason helps.

const linesMax = 100;
const root = join(import.meta.dirname, '..');

const files = execFileSync('git', ['ls-files', '--', 'src/*.ts', 'console/src/*.ts', 'console/src/*.tsx'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '');

/** Lines that hold code: neither blank nor comment alone. */
const codeLinesOf = (source: ts.SourceFile, node: ts.Node): number => {
  const lines = new Set<number>();
  const note = (each: ts.Node): void => {
    if (each.getChildCount(source) === 0 && each.getWidth(source) > 0) {
      const from = source.getLineAndCharacterOfPosition(each.getStart(source)).line;
      const to = source.getLineAndCharacterOfPosition(each.getEnd()).line;
      for (let line = from; line <= to; line++) lines.add(line);
    }
    for (const child of each.getChildren(source)) note(child);
  };
  note(node);
  return lines.size;
};

const problemsOf = (file: string): string[] => {
  const source = ts.createSourceFile(
    file,
    readFileSync(join(root, file), 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  );
  const problems: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node)) {
      const { line: first } = source.getLineAndCharacterOfPosition(node.getStart(source));
      const { line: last } = source.getLineAndCharacterOfPosition(node.getEnd());
      const lines = last - first < linesMax ? 0 : codeLinesOf(source, node);
      if (lines > linesMax)
        problems.push(
          `${file}:${first + 1}: a function of ${lines} lines, the limit is ${linesMax}: divide it into stages`,
        );
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return problems;
};

const problems = files.flatMap(problemsOf);
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exitCode = 1;
}
