const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const bracketOpen = 0x5b;
const backslash = 0x5c;
const bracketClose = 0x5d;
const braceOpen = 0x7b;
const braceClose = 0x7d;

/** No character: the text is at its end. */
const nothing = -1;

const words: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
];

/** An array or an object whose end is still to come. */
type Open =
  | { readonly kind: 'array'; readonly value: unknown[] }
  | { readonly kind: 'object'; readonly value: Record<string, unknown>; name: string };

const setMember = (object: Record<string, unknown>, name: string, value: unknown): void => {
  if (name !== '__proto__') object[name] = value;
  // An assignment would set the prototype; JSON.parse makes a member of it.
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
};

const digits = new WeakMap<object, Map<string, string>>();

/** The digits of a whole number of 16 to 20 of them that was read last under this name of an object. */
export const digitsIn = (object: object, name: string): string | undefined => digits.get(object)?.get(name);

/** Goes through a text once; however deep it is nested, no call nests with it. */
class TolerantReader {
  private readonly text: string;
  private at = 0;
  /** The digits of the number that was read last, until it is added. */
  private lastDigits: string | undefined;

  constructor(text: string) {
    this.text = text;
  }

  read(): unknown {
    const open: Open[] = [];
    for (;;) {
      const entered = this.enter();
      if (entered !== undefined) {
        open.push(entered);
        continue;
      }
      let value = this.whole();
      for (;;) {
        const around = open.at(-1);
        if (around === undefined) {
          if (this.peek() !== nothing) throw this.unexpected();
          return value;
        }
        if (this.add(around, value)) break;
        open.pop();
        value = around.value;
      }
    }
  }

  /** Enters an array or an object that is not empty; undefined for any other value, which is still to be read. */
  private enter(): Open | undefined {
    const code = this.peek();
    if (code !== braceOpen && code !== bracketOpen) return undefined;
    const start = this.at++;
    if (this.peek() === (code === braceOpen ? braceClose : bracketClose)) {
      this.at = start;
      return undefined;
    }
    return code === braceOpen
      ? { kind: 'object', value: {}, name: this.name() }
      : { kind: 'array', value: [] };
  }

  /** Reads a value without parts. */
  private whole(): unknown {
    const code = this.peek();
    if (code === braceOpen || code === bracketOpen) {
      this.at++;
      this.peek();
      this.at++;
      return code === braceOpen ? {} : [];
    }
    if (code === quote) return this.string();
    for (const [word, value] of words) {
      if (!this.text.startsWith(word, this.at)) continue;
      this.at += word.length;
      return value;
    }
    return this.number();
  }

  /** Adds a value to what it stands in; false when that ends here, and then it is left. */
  private add(around: Open, value: unknown): boolean {
    if (around.kind === 'array') around.value.push(value);
    else {
      setMember(around.value, around.name, value);
      const known = digits.get(around.value) ?? new Map<string, string>();
      if (this.lastDigits === undefined) known.delete(around.name);
      else digits.set(around.value, known.set(around.name, this.lastDigits));
    }
    this.lastDigits = undefined;
    const code = this.peek();
    if (code !== comma && code !== (around.kind === 'array' ? bracketClose : braceClose))
      throw this.unexpected();
    this.at++;
    if (code !== comma) return false;
    if (around.kind === 'object') around.name = this.name();
    return true;
  }

  /** Reads the name of a member, up to its value. */
  private name(): string {
    if (this.peek() !== quote) throw this.unexpected();
    const name = this.string();
    if (this.peek() !== colon) throw this.unexpected();
    this.at++;
    return name;
  }

  private string(): string {
    const { text, at: start } = this;
    let at = start + 1;
    let isPlain = true;
    for (let code = text.charCodeAt(at); code !== quote; code = text.charCodeAt(++at)) {
      if (code === backslash) {
        isPlain = false;
        at++;
      } else if (code < 0x20) isPlain = false;
      if (at >= text.length) throw this.unexpected();
    }
    this.at = at + 1;
    if (isPlain) return text.slice(start + 1, at);
    const value: unknown = JSON.parse(text.slice(start, at + 1));
    return String(value);
  }

  private number(): number {
    const { at: start } = this;
    if (this.code() === minus) this.at++;
    if (this.code() === zero) this.at++;
    else this.digits();
    if (this.code() === dot) {
      this.at++;
      this.digits();
    }
    if ((this.code() | 0x20) === 0x65) {
      this.at++;
      if (this.code() === minus || this.code() === 0x2b) this.at++;
      this.digits();
    }
    const written = this.text.slice(start, this.at);
    if (written.length <= 21 && /^-?\d{16,20}$/.test(written)) this.lastDigits = written;
    return Number(written);
  }

  private digits(): void {
    const { at: start } = this;
    for (let code = this.code(); code >= zero && code <= nine; code = this.code()) this.at++;
    if (this.at === start) throw this.unexpected();
  }

  private code(): number {
    return this.at < this.text.length ? this.text.charCodeAt(this.at) : nothing;
  }

  /** The next character that is no blank, where the reader then stands. */
  private peek(): number {
    let code = this.code();
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      this.at++;
      code = this.code();
    }
    return code;
  }

  private unexpected(): SyntaxError {
    return new SyntaxError(`invalid JSON at position ${this.at}`);
  }
}

/**
 * Parses JSON in which NaN, Infinity and -Infinity may stand as bare values, as Python's json writes them: they become the numbers
 * they name, so that the rules can drop their points alone. Time and memory are in proportion to the text. Throws SyntaxError
 * like JSON.parse. Slower than that: used only for a text that it has refused.
 */
export const parseTolerantJson = (text: string): unknown => new TolerantReader(text).read();
