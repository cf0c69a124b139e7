import { ByteSource } from '../native/bytes.ts';
import type { TextTally } from '../native/dictionary.ts';
import type { ReadState } from './read-state.ts';

/** The counts of the rows of a block. */
export type ItemTally = TextTally & {
  cutValues: number;
  repeatedKeys: number;
  eventsDropped: number;
  linksDropped: number;
};

/** The end of a text cut to at most `bytesMax` bytes, never within a character. */
export const cutEnd = (bytes: Uint8Array, start: number, bytesMax: number): number => {
  let end = start + bytesMax;
  for (let back = 0; back < 4 && end > start && ((bytes[end] ?? 0) & 0xc0) === 0x80; back++) end--;
  return end;
};

/** Turns a place of a reader (see Scratch) into bytes, truncated to the limit of a value. */
export class PlaceReader {
  source = new ByteSource(new Uint8Array(0));
  start = 0;
  end = 0;
  private readonly tally: ItemTally;

  constructor(tally: ItemTally) {
    this.tally = tally;
  }

  locate(state: ReadState, start: number, end: number): void {
    const { valueBytesMax } = state.limits;
    if (start < 0) {
      if (this.source !== state.scratch.source) this.source = state.scratch.source;
      this.start = ~start;
      this.end = ~end;
    } else {
      if (this.source !== state.body) this.source = state.body;
      this.start = start;
      this.end = end;
    }
    if (this.end - this.start <= valueBytesMax) return;
    this.end = cutEnd(this.source.bytes, this.start, valueBytesMax);
    this.tally.cutValues++;
  }
}
