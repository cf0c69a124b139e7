import type { Bus } from '../../../src/bus/connection.ts';
import type { DoubtfulLine, PublishedLine } from '../../../src/outcomes/rows.ts';
import type { Tally } from '../../../src/outcomes/tally.ts';
import { minuteText } from '../../../src/outcomes/times.ts';
import { validateItems } from '../../../src/transfer/blocks/validate-items.ts';
import { validatePoints } from '../../../src/transfer/points/validate-points.ts';
import { decodeBlocksEnvelope } from '../../../src/wire/blocks-envelope.ts';
import { type MessageSerial, readSerial } from '../../../src/wire/message-serial.ts';
import { decodeEnvelope } from '../../../src/wire/metrics-envelope.ts';

type Kept = {
  readonly sequence: number;
  readonly subject: string;
  readonly data: Uint8Array;
  header(name: string): string;
};

/** The messages that a stream holds, in order. */
export const messagesOf = async (bus: Bus, stream: string): Promise<Kept[]> => {
  const { streams } = await bus.manager();
  const { state } = await streams.info(stream);
  const kept: Kept[] = [];
  for (let seq = state.first_seq; state.messages > 0 && seq <= state.last_seq; seq++) {
    const message = await streams.getMessage(stream, { seq });
    if (message === null) continue;
    const { subject, data } = message;
    kept.push({ sequence: seq, subject, data, header: (name) => message.header.get(name) });
  }
  return kept;
};

/** A message of METRICS or TRACES: its place in the publishers' book, and its items by owner as transfer would settle them. */
export type Stored = {
  readonly sequence: number;
  readonly place: MessageSerial;
  readonly items: ReadonlyMap<number, number>;
};

const tallyOf = (stream: 'METRICS' | 'TRACES', data: Uint8Array): Tally => {
  if (stream === 'METRICS') {
    const read = decodeEnvelope(data, 1);
    if (read.kind === 'envelope') return validatePoints(read.envelope, new Set()).tally;
  } else {
    const read = decodeBlocksEnvelope(data, 1);
    if (read.kind === 'envelope') return validateItems(read.envelope).tally;
  }
  throw new Error(`a message of ${stream} is malformed`);
};

export const storedIn = async (bus: Bus, stream: 'METRICS' | 'TRACES'): Promise<Stored[]> =>
  (await messagesOf(bus, stream)).map(({ sequence, data, header }) => {
    const place = readSerial(header('Tidemark-Serial'));
    if (place === undefined) throw new Error(`message ${sequence} of ${stream} has no serial`);
    const items = new Map<number, number>();
    for (const [owner, counts] of tallyOf(stream, data))
      items.set(
        owner,
        [...counts.values()].reduce((sum, count) => sum + count, 0),
      );
    return { sequence, place, items };
  });

const linesIn = <T>(messages: readonly Kept[], subject: string): T[] =>
  messages
    .filter((message) => message.subject === subject)
    .flatMap(({ data }) => Buffer.from(data).toString().split('\n').slice(0, -1))
    .map((line): T => JSON.parse(line));

/** The publishers' book as LEDGER holds it. */
export const publishersBookIn = async (
  bus: Bus,
): Promise<{ lines: PublishedLine[]; doubtful: DoubtfulLine[]; versions: Set<string> }> => {
  const messages = (await messagesOf(bus, 'LEDGER')).filter(
    ({ subject }) => subject === 'ledger.published' || subject === 'ledger.doubtful',
  );
  return {
    lines: linesIn<PublishedLine>(messages, 'ledger.published'),
    doubtful: linesIn<DoubtfulLine>(messages, 'ledger.doubtful'),
    versions: new Set(messages.map(({ header }) => header('Tidemark-Envelope'))),
  };
};

/** Of the lines of each key the one with the highest version, as ClickHouse keeps it. */
export const standing = (lines: readonly PublishedLine[]): PublishedLine[] => {
  const byKey = new Map<string, PublishedLine>();
  for (const line of lines) {
    const key = [line.stream, line.life, line.minute, line.data_id, line.app_id].join(' ');
    if (line.version > (byKey.get(key)?.version ?? 0)) byKey.set(key, line);
  }
  return [...byKey.values()];
};

/** What a line says of messages and items: `[minute, owner, messages, items, first and last sequence]`. */
export type Row = readonly [string, number, number, number, number, number];

const inOrder = (rows: readonly Row[]): Row[] => rows.toSorted((a, b) => (String(a) < String(b) ? -1 : 1));

/** The standing lines of one life and stream. */
export const bookRows = (lines: readonly PublishedLine[], stream: string, life: number): Row[] =>
  inOrder(
    standing(lines)
      .filter((line) => line.stream === stream && line.life === life && line.messages > 0)
      .map(({ minute, data_id, app_id, messages, items, sequence_first, sequence_last }): Row => {
        return [minute, data_id + app_id, messages, items, sequence_first, sequence_last];
      }),
  );

/** The same of what a stream holds; `isCounted`: not the messages that a book names as doubtful. */
export const storedRows = (
  stored: readonly Stored[],
  life: number,
  isCounted: (serial: number) => boolean = () => true,
): Row[] => {
  const rows = new Map<string, [string, number, number, number, number, number]>();
  for (const { sequence, place, items } of stored) {
    if (place.life !== life || !isCounted(place.serial)) continue;
    const minute = minuteText(place.minute * 60_000);
    for (const [owner, count] of [[0, 0] as const, ...items]) {
      const key = `${minute} ${owner}`;
      const [, , messages, sum, first] = rows.get(key) ?? [minute, owner, 0, 0, sequence, sequence];
      rows.set(key, [minute, owner, messages + 1, sum + count, first, sequence]);
    }
  }
  return inOrder([...rows.values()]);
};
