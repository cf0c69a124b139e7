import { NotReadable } from './model.ts';

/** A JSON value with everything that was sent: members in order and as often as they came, the text of each value. */
export type Json = { readonly source: string } & (
  | { readonly type: 'object'; readonly members: readonly (readonly [name: string, value: Json])[] }
  | { readonly type: 'array'; readonly items: readonly Json[] }
  | { readonly type: 'string'; readonly text: string }
  | { readonly type: 'number' | 'true' | 'false' | 'null' }
);

// The grammar of RFC 8259, each token tried at the place where reading stands.
const space = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const string = /"(?:[^"\\]|\\.)*"/sy;
const word = /true|false|null/y;

class Text {
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  document(): Json {
    const value = this.value();
    this.token(space);
    if (this.at < this.text.length) throw new NotReadable('more than one value');
    return value;
  }

  private value(): Json {
    this.token(space);
    const from = this.at;
    if (this.takes('{')) {
      const members = this.list('}', () => this.member());
      return { type: 'object', members, source: this.text.slice(from, this.at) };
    }
    if (this.takes('[')) {
      const items = this.list(']', () => this.value());
      return { type: 'array', items, source: this.text.slice(from, this.at) };
    }
    const literal = this.token(string);
    if (literal !== undefined) return { type: 'string', text: textOf(literal), source: literal };
    const digits = this.token(number);
    if (digits !== undefined) return { type: 'number', source: digits };
    const name = this.token(word);
    if (name === 'true' || name === 'false' || name === 'null') return { type: name, source: name };
    throw new NotReadable(`no value at ${from}`);
  }

  private member(): readonly [string, Json] {
    this.token(space);
    const name = this.token(string);
    this.token(space);
    if (name === undefined || !this.takes(':')) throw new NotReadable(`no member at ${this.at}`);
    return [textOf(name), this.value()];
  }

  private list<T>(close: string, read: () => T): T[] {
    const items: T[] = [];
    this.token(space);
    if (this.takes(close)) return items;
    for (;;) {
      items.push(read());
      this.token(space);
      if (this.takes(close)) return items;
      if (!this.takes(',')) throw new NotReadable(`no comma at ${this.at}`);
    }
  }

  private takes(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private token(form: RegExp): string | undefined {
    form.lastIndex = this.at;
    const [found] = form.exec(this.text) ?? [];
    this.at += found?.length ?? 0;
    return found;
  }
}

/** What a string literal stands for; half a character is none. */
const textOf = (literal: string): string => {
  try {
    return String(JSON.parse(literal)).toWellFormed();
  } catch {
    throw new NotReadable(`no string: ${literal}`);
  }
};

/** Reads a text that is one JSON value. Throws NotReadable. */
export const readJson = (text: string): Json => new Text(text).document();
