import type { Bus } from '../../../src/bus/connection.ts';
import { createPublisher } from '../../../src/bus/publisher.ts';
import { createStreamReader } from '../../../src/bus/stream-reader.ts';
import { bytesIdentity, createDeadLetters } from '../../../src/dead-letters/dead-letters.ts';
import { decodeFrame } from '../../../src/wire/frame.ts';

/** A dead letter as its stream keeps it. */
export type ReadLetter = {
  readonly sequence: number;
  readonly messageId: string;
  readonly header: Readonly<Record<string, unknown>>;
  readonly bytes: Buffer;
};

/** Everything in DEADLETTER, oldest first. */
export const readDeadLetters = async (bus: Bus): Promise<ReadLetter[]> => {
  const reader = createStreamReader(bus);
  const letters: ReadLetter[] = [];
  for (let from: number | undefined = 1; from !== undefined; ) {
    const { entries, next } = await reader.readForwards('DEADLETTER', { fromSequence: from, limit: 256 });
    for (const { sequence, headers, payload } of entries) {
      const frame = decodeFrame(payload, undefined);
      if (frame.kind !== 'frame') throw new Error(`dead letter ${sequence} is ${frame.kind}`);
      const messageId = headers.get('Nats-Msg-Id') ?? '';
      letters.push({ sequence, messageId, header: frame.header, bytes: frame.body });
    }
    from = next;
  }
  return letters;
};

let planted = 0;

/** Puts this many unreadable messages into DEADLETTER, as transfer does. None is a repeat of one before. */
export const plantDeadLetters = async (bus: Bus, count: number): Promise<void> => {
  const publisher = createPublisher(bus, { deadlineMs: 10_000, awayMs: 5_000 });
  const deadLetters = createDeadLetters(publisher);
  for (let index = 0; index < count; index++) {
    const bytes = Buffer.from(`no message ${planted++}`);
    const header = {
      version: 1,
      reason: 'unreadable_message',
      error: 'too short',
      stream: 'METRICS',
      streamSequence: index + 1,
      subject: 'metrics.0',
      items: 1,
      redrive: 0,
      at: Date.now(),
    } as const;
    await deadLetters.put(bytesIdentity(bytes), header, bytes);
  }
  publisher.close();
};

/** A figure of a role: the sum of the series of this name that have all of these labels. */
export const figureOf = (text: string, name: string, labels: Readonly<Record<string, string>> = {}): number =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
