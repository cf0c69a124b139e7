import { pick, type Random, shuffled } from '../../support/otlp/plain/mutations.ts';
import type { Part } from './parts.ts';

/** What a rule makes parts with. */
export class Grow {
  readonly random: Random;
  private readonly rules: Rules;
  /** Once in this many times an unusual value is made. */
  private readonly oddOnceIn: number;
  private readonly depth: number;

  constructor(random: Random, rules: Rules, oddOnceIn = 4, depth = 0) {
    this.random = random;
    this.rules = rules;
    this.oddOnceIn = oddOnceIn;
    this.depth = depth;
  }

  /** The same, by which a body is the more usual the larger the number is. */
  withOdd(onceIn: number): Grow {
    return new Grow(this.random, this.rules, onceIn, this.depth);
  }

  /** A part by the rule of this name; where rules lie deep within rules, one that needs no other. */
  of(name: string): Part {
    const rule = this.depth > depthMax ? this.rules.leaf : (this.rules.all[name] ?? this.rules.leaf);
    const made = rule(new Grow(this.random, this.rules, this.oddOnceIn, this.depth + 1));
    return typeof made === 'string' ? { is: name, all: [made] } : { ...made, is: name };
  }

  pick<T>(...choices: readonly [T, ...T[]]): T {
    return pick(this.random, choices);
  }

  /** The first of the parts nearly always, one of the others now and then. */
  mostly(usual: () => Part, ...others: readonly [() => Part, ...(() => Part)[]]): Part {
    return this.random(this.oddOnceIn) > 0 ? usual() : pick(this.random, others)();
  }

  chance(oneIn: number): boolean {
    return this.random(oneIn) === 0;
  }

  /** About this many, or far fewer or more: each power of two up to `most` is as likely as another. */
  count(most: number): number {
    const power = this.random(1 + Math.floor(Math.log2(most)));
    return 2 ** power + this.random(2 ** power);
  }

  /** Parts by a rule, as many as fit or this many. */
  many(name: string, between = ','): Part {
    const repeat = this.of(name);
    const each = this.count(8192);
    const size = { repeat, each, between: this.chance(12) ? `${between} ` : between };
    return this.chance(3) ? { ...size, times: this.count(2000) } : size;
  }

  /** Some of the parts, in this order or another. */
  some(parts: readonly Part[], between: string): Part {
    const kept = parts.filter(() => !this.chance(5));
    return { all: this.chance(3) ? shuffled(this.random, kept) : kept, between };
  }
}

export type Rule = (grow: Grow) => Part;
/** Rules by name. `leaf` makes something small without asking for other parts. */
export type Rules = { readonly all: Readonly<Record<string, Rule>>; readonly leaf: Rule };

const depthMax = 12;

/** Texts that are worth trying wherever a text may stand. */
export const oddTexts: readonly [string, ...string[]] = [
  ...([
    ',',
    ':',
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    '{}',
    '[]',
    ' ',
    '\n',
    '0',
    '-',
    '1e9',
    'null',
    'NaN',
  ] as const),
  ...[
    '\\u0041',
    '\\ud800',
    '\\n',
    'é',
    '漢',
    '😀',
    '\u0000',
    '…',
    '#',
    '-Infinity',
    '__proto__',
    'a',
    '"":0',
    '=',
    '.',
  ],
];
