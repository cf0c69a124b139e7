/** The names that an object of OTLP may have, found by their bytes. Each has a number; a snake_case name that of its camelCase. */
export class KeySet {
  private readonly names: readonly Buffer[];
  private readonly numbers: readonly number[];
  /** First name of each hash + 1, and the next of the same hash. */
  private readonly heads = new Uint8Array(256);
  private readonly nexts: Uint8Array;
  private readonly snakeFrom: number;

  constructor(camelNames: readonly string[]) {
    const snakeNames = camelNames.map(snakeOf);
    const twoForms = snakeNames.filter((name, index) => name !== camelNames[index]);
    const all = [...camelNames, ...twoForms];
    this.snakeFrom = camelNames.length;
    this.names = all.map((name) => Buffer.from(name));
    this.numbers = all.map((name, index) => (index < camelNames.length ? index : snakeNames.indexOf(name)));
    this.nexts = new Uint8Array(all.length);
    for (const [index, name] of this.names.entries()) {
      const place = hashOf(name, 0, name.length);
      this.nexts[index] = this.heads[place] ?? 0;
      this.heads[place] = index + 1;
    }
  }

  /** Place of the name in bytes [start, end); −1 for any other. */
  find(source: Uint8Array, start: number, end: number): number {
    let entry = this.heads[hashOf(source, start, end)] ?? 0;
    while (entry !== 0) {
      if (isSame(this.names[entry - 1], source, start, end)) return entry - 1;
      entry = this.nexts[entry - 1] ?? 0;
    }
    return -1;
  }

  /** Number of the name at a place that `find` answered. */
  numberOf(place: number): number {
    return this.numbers[place] ?? -1;
  }

  isSnake(place: number): boolean {
    return place >= this.snakeFrom;
  }
}

/** What a protobuf library prints that does not use the JSON names. */
export const snakeOf = (camel: string): string =>
  camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const hashOf = (source: Uint8Array, start: number, end: number): number =>
  ((end - start) * 7 + (source[start] ?? 0) * 3 + (source[end - 1] ?? 0)) & 0xff;

const isSame = (name: Buffer | undefined, source: Uint8Array, start: number, end: number): boolean => {
  if (name === undefined || name.length !== end - start) return false;
  for (let index = 0; index < name.length; index++) if (name[index] !== source[start + index]) return false;
  return true;
};
