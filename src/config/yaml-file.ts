import { readFileSync } from 'node:fs';
import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { errorText, Fault } from '../model/fault.ts';

/** One value of a file: the keys that lead to it, its text as it is written, and `file:line:column` for messages. */
export type Leaf = {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly written: string;
  readonly place: string;
};

/** A parsed YAML file with the place of each of its values. */
export type YamlFile = {
  readonly file: string;
  readonly value: unknown;
  /** `file:line:column` of the value at these keys, or of the nearest value above it. */
  placeOf(path: readonly (string | number)[]): string;
  /** All scalar values, depth first. */
  leaves(): Leaf[];
};

/** Reads a YAML file. Throws a permanent Fault `config_invalid` that names file, line and reason. */
export const parseYamlFile = (file: string): YamlFile => {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault('permanent', 'config_invalid', `${file}: cannot be read (${errorText(error)})`);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const problem = document.errors[0];
  if (problem !== undefined) {
    throw new Fault('permanent', 'config_invalid', `${at(problem.pos[0])}: ${problem.message}`);
  }
  const offsetOf = (node: Node | null | undefined): number => node?.range?.[0] ?? 0;
  const placeOf = (path: readonly (string | number)[]): string => {
    for (let depth = path.length; depth > 0; depth--) {
      const node = document.getIn(path.slice(0, depth), true);
      if (isScalar(node) || isMap(node) || isSeq(node)) return at(offsetOf(node));
    }
    return at(offsetOf(document.contents));
  };
  const leaves = (): Leaf[] => {
    const found: Leaf[] = [];
    const walk = (node: unknown, path: string[]): void => {
      if (isMap(node)) {
        for (const item of node.items)
          walk(item.value, [...path, String(isScalar(item.key) ? item.key.value : item.key)]);
      } else if (isSeq(node)) {
        node.items.forEach((item, index) => {
          walk(item, [...path, String(index)]);
        });
      } else if (isScalar(node)) {
        const { value } = node;
        const written = typeof value === 'string' ? value : (node.source ?? String(value));
        found.push({ path, value, written, place: at(offsetOf(node)) });
      }
    };
    walk(document.contents, []);
    return found;
  };
  return { file, value: document.toJS(), placeOf, leaves };
};
