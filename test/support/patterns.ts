import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const root = join(import.meta.dirname, '../..');

/** Every regular expression that the program's sources hold, as `file pattern`; `new RegExp` where it is made of parts. */
export const patternsInSource = (folders: readonly string[]): string[] => {
  const found: string[] = [];
  const visit = (file: string, source: ts.SourceFile, node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) found.push(`${file} ${node.getText(source)}`);
    else if (ts.isNewExpression(node) && node.expression.getText(source) === 'RegExp')
      found.push(`${file} new RegExp`);
    ts.forEachChild(node, (child) => visit(file, source, child));
  };
  for (const folder of folders) {
    for (const file of globSync(`src/${folder}/**/*.ts`, { cwd: root }).toSorted()) {
      const text = readFileSync(join(root, file), 'utf8');
      const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
      visit(file.slice('src/'.length), source, source);
    }
  }
  return found;
};

const methods = ['exec', 'test'] as const;
const symbols = [Symbol.replace, Symbol.match, Symbol.matchAll, Symbol.search, Symbol.split] as const;

/** The longest text that any regular expression looked through while `run` ran, and the expression. */
export const longestLookedThrough = (run: () => void): { length: number; pattern: string } => {
  const longest = { length: 0, pattern: '' };
  const undo: (() => void)[] = [];
  for (const name of [...methods, ...symbols]) {
    const own = Object.getOwnPropertyDescriptor(RegExp.prototype, name);
    if (own === undefined) continue;
    const method: (...given: unknown[]) => unknown = own.value;
    Object.defineProperty(RegExp.prototype, name, {
      ...own,
      value: function (this: RegExp, ...given: unknown[]): unknown {
        const { length } = String(given[0]);
        if (length > longest.length) Object.assign(longest, { length, pattern: String(this) });
        return Reflect.apply(method, this, given);
      },
    });
    undo.push(() => Object.defineProperty(RegExp.prototype, name, own));
  }
  try {
    run();
  } finally {
    for (const back of undo) back();
  }
  return longest;
};
