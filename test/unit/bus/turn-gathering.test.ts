import { Writable } from 'node:stream';
import { setImmediate as turnEnd } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createTurnGathering } from '../../../src/bus/turn-gathering.ts';

/** A stream that keeps what each of its writes to the system has, in bytes of its messages. */
const recordingStream = (): { stream: Writable; writes: number[][] } => {
  const writes: number[][] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      writes.push([chunk.length]);
      done();
    },
    writev: (chunks, done) => {
      writes.push(chunks.map(({ chunk }: { chunk: Buffer }) => chunk.length));
      done();
    },
  });
  return { stream, writes };
};

describe('the messages of one turn of the event loop', () => {
  it('go out in one write, and those of the next turn in another', async () => {
    const { stream, writes } = recordingStream();
    const gather = createTurnGathering(() => stream);
    const send = (bytes: number): void => {
      gather(bytes);
      stream.write(Buffer.alloc(bytes));
    };
    for (const bytes of [1, 2, 3]) send(bytes);
    expect(writes).toEqual([]);
    await turnEnd();
    for (const bytes of [4, 5]) send(bytes);
    await turnEnd();
    expect(writes).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
  });

  it('go out before the turn ends once they have more than 256 KiB', async () => {
    const { stream, writes } = recordingStream();
    const gather = createTurnGathering(() => stream);
    const sent = Array.from({ length: 10 }, () => 100 * 1024);
    for (const bytes of sent) {
      gather(bytes);
      stream.write(Buffer.alloc(bytes));
    }
    expect(writes.map((write) => write.length)).toEqual([3, 3, 3]);
    await turnEnd();
    expect(writes.flat()).toEqual(sent);
    stream.write(Buffer.alloc(1));
    expect(writes.at(-1), 'nothing is held back any more').toEqual([1]);
  });

  it('follow a stream that takes the place of the last one', async () => {
    const first = recordingStream();
    const second = recordingStream();
    let present: Writable | undefined = first.stream;
    const gather = createTurnGathering(() => present);
    gather(1);
    first.stream.write('a');
    await turnEnd();
    present = undefined;
    gather(1);
    present = second.stream;
    gather(1);
    second.stream.write('b');
    await turnEnd();
    expect([first.writes, second.writes]).toEqual([[[1]], [[1]]]);
  });
});
