import { readFileSync } from 'node:fs';
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml';
import { errorText } from '../model/fault.ts';
import { settingFault } from './setting-fault.ts';

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
  /** All scalar values, depth first. Throws a permanent Fault `config_invalid` for an alias of a map or a list. */
  leaves(): Leaf[];
};

const offsetOf = (node: Node | null | undefined): number => node?.range?.[0] ?? 0;

/** The first alias without an anchor before it. */
const unresolvedIn = (document: Document): Alias | undefined => {
  let found: Alias | undefined;
  visit(document, {
    Alias: (_, node) => {
      if (node.resolve(document) !== undefined) return undefined;
      found = node;
      return visit.BREAK;
    },
  });
  return found;
};

/** The content as values. Throws a permanent Fault `config_invalid` for an alias that cannot be replaced. */
const contentOf = (document: Document, file: string, at: (offset: number) => string): unknown => {
  const unresolved = unresolvedIn(document);
  if (unresolved !== undefined) {
    const { source } = unresolved;
    const reason = `the alias *${source} has no anchor &${source} before it`;
    throw settingFault(at(offsetOf(unresolved)), reason, 'Write the value, or the anchor');
  }
  try {
    return document.toJS();
  } catch (error) {
    throw settingFault(file, `its aliases cannot be replaced (${errorText(error)})`, 'Write the values');
  }
};

/** Reads a YAML file. Throws a permanent Fault `config_invalid` that names file, line where there is one, reason and remedy. */
export const parseYamlFile = (file: string): YamlFile => {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw settingFault(
      file,
      `cannot be read (${errorText(error)})`,
      'Correct the path or the permissions of the file',
    );
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const problem = document.errors[0];
  if (problem !== undefined)
    throw settingFault(at(problem.pos[0]), problem.message, 'Correct the YAML there');
  const value = contentOf(document, file, at);
  const placeOf = (path: readonly (string | number)[]): string => {
    for (let depth = path.length; depth > 0; depth--) {
      const node = document.getIn(path.slice(0, depth), true);
      if (isScalar(node) || isMap(node) || isSeq(node)) return at(offsetOf(node));
    }
    return at(offsetOf(document.contents));
  };
  const leaves = (): Leaf[] => {
    const found: Leaf[] = [];
    const walk = (given: unknown, path: string[]): void => {
      const node = isAlias(given) ? given.resolve(document) : given;
      if (isAlias(given) && !isScalar(node)) {
        const reason = `the alias *${given.source} stands for several values`;
        throw settingFault(at(offsetOf(given)), reason, 'Write them there');
      }
      if (isMap(node)) {
        for (const item of node.items)
          walk(item.value, [...path, String(isScalar(item.key) ? item.key.value : item.key)]);
      } else if (isSeq(node)) {
        node.items.forEach((item, index) => {
          walk(item, [...path, String(index)]);
        });
      } else if (isScalar(node)) {
        const { value: read } = node;
        const written = typeof read === 'string' ? read : (node.source ?? String(read));
        const place = at(offsetOf(isAlias(given) ? given : node));
        found.push({ path, value: read, written, place });
      }
    };
    walk(document.contents, []);
    return found;
  };
  return { file, value, placeOf, leaves };
};
