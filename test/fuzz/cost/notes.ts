import { type Recipe, recipeSchema } from './recipe.ts';

const headBytes = 8;
const textBytesMax = 256 * 1024;

/** What a search tries at the moment, where another thread can read it that is not waked by it, even when the search has ended badly. */
export class Notes {
  readonly shared: SharedArrayBuffer;
  private readonly head: Int32Array;
  private readonly text: Uint8Array;

  constructor(shared = new SharedArrayBuffer(headBytes + textBytesMax)) {
    this.shared = shared;
    this.head = new Int32Array(shared, 0, 2);
    this.text = new Uint8Array(shared, headBytes);
  }

  write(recipe: Recipe): void {
    const { written } = new TextEncoder().encodeInto(JSON.stringify(recipe), this.text);
    Atomics.store(this.head, 1, written);
    Atomics.add(this.head, 0, 1);
  }

  /** How many were written. */
  get count(): number {
    return Atomics.load(this.head, 0);
  }

  /** The last one. */
  get last(): Recipe | undefined {
    if (this.count === 0) return undefined;
    const text = Buffer.from(this.text.slice(0, Atomics.load(this.head, 1))).toString('utf8');
    const parsed = recipeSchema.safeParse(JSON.parse(text));
    return parsed.data;
  }
}
