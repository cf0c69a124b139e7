/** A row of line protocol, read apart. `fields` holds texts and doubles; `uid` is the integer field of that name as decimal text. */
export type ReadRow = {
  readonly table: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, string | number>>;
  readonly uid: string;
  readonly time: number;
};

/** Reads rows character by character, as InfluxDB line protocol is defined, without code of Tidemark's writer. */
class Reader {
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  get atEnd(): boolean {
    return this.at >= this.text.length;
  }

  private get next(): string {
    return this.text[this.at] ?? '';
  }

  private take(expected: string): void {
    if (this.next !== expected) {
      throw new Error(
        `expected ${JSON.stringify(expected)} at ${this.at}, found ${JSON.stringify(this.next)}`,
      );
    }
    this.at++;
  }

  private token(ends: string): string {
    let token = '';
    while (!this.atEnd && !ends.includes(this.next)) {
      if (this.next === '\\') this.at++;
      token += this.next;
      this.at++;
    }
    return token;
  }

  private quoted(): string {
    this.take('"');
    const text = this.token('"');
    this.take('"');
    return text;
  }

  row(): ReadRow {
    const table = this.token(', ');
    const tags: Record<string, string> = {};
    const fields: Record<string, string | number> = {};
    let uid = '';
    const put = <T>(into: Record<string, T>, name: string, value: T): void => {
      if (Object.hasOwn(into, name)) throw new Error(`${name} is there twice`);
      Object.defineProperty(into, name, { value, enumerable: true });
    };
    while (this.next === ',') {
      this.take(',');
      const name = this.token('=');
      this.take('=');
      put(tags, name, this.token(', \n'));
    }
    let separator = ' ';
    do {
      this.take(separator);
      separator = ',';
      const name = this.token('=');
      this.take('=');
      if (this.next === '"') put(fields, name, this.quoted());
      else {
        const text = this.token(', \n');
        if (text.endsWith('i')) uid = text.slice(0, -1);
        else put(fields, name, Number(text));
      }
    } while (this.next === ',');
    this.take(' ');
    const time = Number(this.token('\n'));
    this.take('\n');
    return { table, tags, fields, uid, time };
  }
}

/** All rows of a text. Throws where it is no line protocol. */
export const readRows = (text: string): ReadRow[] => {
  const reader = new Reader(text);
  const rows: ReadRow[] = [];
  while (!reader.atEnd) rows.push(reader.row());
  return rows;
};
