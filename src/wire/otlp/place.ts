import { isUtf8 } from 'node:buffer';
import { ByteSource, cutEnd, limitedEnd } from '../native/bytes.ts';
import { repair, type TextTally } from '../native/dictionary.ts';
import type { ReadState } from './read-state.ts';

/** The counts of the rows of a block. */
export type ItemTally = TextTally & {
  cutValues: number;
  bytesMax: number;
  repeatedKeys: number;
  eventsDropped: number;
  linksDropped: number;
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
    const { bytes } = this.source;
    if (isUtf8(bytes.subarray(this.start, this.end))) return;
    // Here, so that a text that has to be cut once more is counted once.
    this.tally.repairs++;
    this.source = repair(bytes, this.start, this.end);
    this.start = 0;
    this.end = limitedEnd(this.source.bytes, valueBytesMax);
  }
}
