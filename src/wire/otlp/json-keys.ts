import { type ByteSource, isSame, sourceOf } from '../native/bytes.ts';

/** The names that an object of OTLP may have, found by their bytes. Each has a number; a snake_case name that of its camelCase. */
export class KeySet {
  private readonly names: readonly ByteSource[];
  private readonly numbers: readonly number[];
  /** First name of each hash + 1, and the next of the same hash. */
  private readonly heads = new Uint8Array(256);
  private readonly nexts: Uint8Array;
  private readonly snakeFrom: number;
  private readonly members: readonly ByteSource[];
  /** By place: the place of the name that followed it last. */
  private readonly followers: Uint8Array;
  private last = 0;
  private likely = 0;

  constructor(camelNames: readonly string[]) {
    const snakeNames = camelNames.map(snakeOf);
    const twoForms = snakeNames.filter((name, index) => name !== camelNames[index]);
    const all = [...camelNames, ...twoForms];
    this.snakeFrom = camelNames.length;
    this.names = all.map(sourceOf);
    this.numbers = all.map((name, index) => (index < camelNames.length ? index : snakeNames.indexOf(name)));
    this.members = all.map((name) => sourceOf(`"${name}":`));
    this.followers = new Uint8Array(all.length);
    this.nexts = new Uint8Array(all.length);
    for (const [index, name] of this.names.entries()) {
      const place = hashOf(name, 0, name.bytes.length);
      this.nexts[index] = this.heads[place] ?? 0;
      this.heads[place] = index + 1;
    }
  }

  /** The member `"name":` that is likely to be next: senders write the members of an object in one order. */
  get likelyMember(): ByteSource {
    return this.members[this.likely] ?? noMember;
  }

  /** Notes that the likely member was next; returns its place. */
  takeLikely(): number {
    const place = this.likely;
    this.last = place;
    this.likely = this.followers[place] ?? 0;
    return place;
  }

  /** Place of the name in bytes [start, end); −1 for any other. */
  find(source: ByteSource, start: number, end: number): number {
    let entry = this.heads[hashOf(source, start, end)] ?? 0;
    while (entry !== 0) {
      const name = this.names[entry - 1];
      if (name?.bytes.length === end - start && isSame(name, 0, source, start, end - start))
        return this.note(entry - 1);
      entry = this.nexts[entry - 1] ?? 0;
    }
    return -1;
  }

  private note(place: number): number {
    this.followers[this.last] = place;
    this.last = place;
    this.likely = this.followers[place] ?? 0;
    return place;
  }

  /** Number of the name at a place that `find` returned. */
  numberOf(place: number): number {
    return this.numbers[place] ?? -1;
  }

  isSnake(place: number): boolean {
    return place >= this.snakeFrom;
  }
}

const noMember = sourceOf('\u0000');

/** Names that a protobuf library prints without the JSON names. */
export const snakeOf = (camel: string): string =>
  camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const hashOf = ({ bytes }: ByteSource, start: number, end: number): number =>
  ((end - start) * 7 + (bytes[start] ?? 0) * 3 + (bytes[end - 1] ?? 0)) & 0xff;
