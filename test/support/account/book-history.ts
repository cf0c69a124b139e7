import { pick, type Random } from '../otlp/plain/mutations.ts';

/** Rows of the two books as ClickHouse has them, of one stream of points; minutes are Unix seconds. */
export type PublishedRow = {
  readonly life: number;
  readonly minute: number;
  /** 0: the line that counts messages. */
  readonly owner: number;
  readonly messages: number;
  readonly items: number;
  readonly sequenceFirst: number;
  readonly sequenceLast: number;
  readonly closed: number;
  readonly ended: 0 | 1;
  readonly version: number;
};

export type SettledRow = {
  readonly life: number;
  readonly minute: number;
  readonly serial: number;
  readonly sequence: number;
  readonly owner: number;
  readonly owners: number;
  readonly items: number;
  readonly redrive: number;
};

export type DoubtfulRow = {
  readonly life: number;
  readonly serial: number;
  readonly minute: number;
  readonly owner: number;
  readonly items: number;
};

export type BookRows = {
  readonly published: readonly PublishedRow[];
  readonly settled: readonly SettledRow[];
  readonly doubtful: readonly DoubtfulRow[];
};

/** How a publish ended; `open`: it has not. */
type Result = 'open' | 'stored' | 'nothing' | 'doubtful';

export type Message = {
  /** 0 for one without a serial. */
  readonly life: number;
  readonly serial: number;
  readonly minute: number;
  readonly owners: ReadonlyMap<number, number>;
  result: Result;
  /** That the PubAck named. */
  sequence: number;
};

/** What is in the stream, and how far its consumer is. */
export type Stream = {
  exists: boolean;
  last: number;
  floor: number;
  messages: Map<number, Message>;
};

type Receiver = {
  readonly life: number;
  readonly messages: Message[];
  state: 'running' | 'killed' | 'ended';
  version: number;
  /** Of the last flush that was written as a whole. */
  written: number;
};

const ownerCount = 3;
export const firstMinute = 1_790_000_040;

/** A life of a stream, its receivers and settlers, one act at a time. It knows of each message what became of it. */
export class BookHistory {
  readonly published: PublishedRow[] = [];
  settled: SettledRow[] = [];
  doubtful: DoubtfulRow[] = [];
  readonly messages: Message[] = [];
  readonly receivers: Receiver[] = [];
  stream: Stream = { exists: true, last: 0, floor: 0, messages: new Map() };
  /** The stream lost its tail, or came back from a copy: it gave sequences twice. */
  wentBack = false;
  /** Lines of owners arrived without the line with owner 0, or doubtful lines were lost: what is missing has a number, not a cause. */
  isBlurred = false;
  private minute = firstMinute;
  private copy: Stream | undefined;
  private readonly random: Random;
  private readonly ownerFirst: number;

  /** `ownerFirst` is added to the owners 1 to 3. */
  constructor(random: Random, acts: number, ownerFirst = 0) {
    this.random = random;
    this.ownerFirst = ownerFirst;
    // Most histories have few kinds of trouble, so that none hides another.
    const troubles = this.troubles.filter(() => random(4) === 0);
    for (let act = 0; act < acts; act++) {
      const kind = random(20);
      if (kind < 9) this.publish();
      else if (kind < 12) this.settleSome();
      else if (kind < 14) this.flush(this.anyReceiver());
      else if (kind === 14) this.answer();
      else if (kind === 15) this.moveClock();
      else if (kind === 16 && random(3) === 0) this.stopReceiver();
      else if (troubles.length > 0 && random(2) === 0) troubles[random(troubles.length)]?.();
    }
    if (random(2) === 0)
      for (const message of this.messages) if (message.result === 'open') message.result = 'stored';
    if (random(2) === 0) while (this.settleSome() > 0);
    if (random(2) === 0) for (const receiver of this.receivers) this.flush(receiver);
    if (random(20) === 0) {
      this.stream.exists = false;
      this.stream.messages.clear();
    }
  }

  private readonly troubles: readonly (() => void)[] = [
    () => this.kill(),
    () => this.purge(),
    () => this.deleteMessage(),
    () => this.cutTail(),
    () => this.restoreCopy(),
    () => this.moveConsumer(),
    () => this.loseLine(),
    () => this.loseLines(),
    () => this.loseDoubtful(),
    () => this.flush(this.anyReceiver(), { isCut: true }),
    () => {
      this.copy = { ...this.stream, messages: new Map(this.stream.messages) };
    },
  ];

  private anyReceiver(): Receiver {
    const running = this.receivers.filter(({ state }) => state === 'running');
    const known = running[this.random(3)];
    if (known !== undefined) return known;
    const life = this.receivers.length + 1;
    const receiver: Receiver = { life, messages: [], state: 'running', version: 0, written: 0 };
    this.receivers.push(receiver);
    return receiver;
  }

  private moveClock(): void {
    this.minute = Math.max(firstMinute, this.minute + 60 * pick(this.random, [1, 1, 1, -1, -2]));
  }

  private put(message: Message): number {
    this.stream.last++;
    this.stream.messages.set(this.stream.last, message);
    return this.stream.last;
  }

  private publish(): void {
    const { random } = this;
    const owners = new Map<number, number>();
    const names = pick(random, [1, 1, 1, 2, 2, 3, 0]);
    for (let owner = 0; owner < names; owner++)
      owners.set(this.ownerFirst + 1 + random(ownerCount), 1 + random(9));
    const isUnbooked = random(15) === 0;
    const receiver = this.anyReceiver();
    const message: Message = {
      life: isUnbooked ? 0 : receiver.life,
      serial: isUnbooked ? 0 : receiver.messages.length + 1,
      minute: this.minute,
      owners,
      result: 'open',
      sequence: 0,
    };
    this.messages.push(message);
    if (!isUnbooked) receiver.messages.push(message);
    const fate = random(20);
    // A repeat, or not stored.
    if (fate < 2) message.result = 'nothing';
    else if (fate < 4) {
      message.result = 'doubtful';
      if (fate === 2) this.put(message);
    } else {
      // An answer that is lost may make a second copy, and it is that one's sequence that is known.
      if (fate === 4) this.put(message);
      message.sequence = this.put(message);
      if (fate > 5) message.result = 'stored';
    }
  }

  /** A late PubAck. */
  private answer(): void {
    const open = this.messages.find(({ result }) => result === 'open');
    if (open !== undefined) open.result = 'stored';
  }

  /** Writes the lines that changed; `isCut`: those with owner 0 do not arrive, and the receiver writes all again. */
  private flush(receiver: Receiver, { isCut = false } = {}): void {
    if (receiver.state === 'killed' || receiver.messages.length === 0) return;
    const { life, messages, written } = receiver;
    const waiting = messages.findIndex(({ result }) => result === 'open');
    const closed = waiting < 0 ? messages.length : waiting;
    const version = ++receiver.version;
    const isLast = receiver.state === 'ended';
    const changed = isLast ? messages : messages.slice(written, closed);
    for (const { serial, minute, owners, result } of changed)
      if (result === 'doubtful')
        for (const [owner, items] of owners.size > 0 ? owners : [[0, 0] as const])
          this.doubtful.push({ life, serial, minute, owner, items });
    const keys = new Map<string, readonly [number, number]>();
    for (const { minute, owners, result } of changed) {
      if (result === 'stored')
        for (const owner of owners.keys()) keys.set(`${minute} ${owner}`, [minute, owner]);
      if (!isCut) keys.set(`${minute} 0`, [minute, 0]);
    }
    for (const [minute, owner] of keys.values()) {
      const counted = messages
        .slice(0, closed)
        .filter((each) => each.minute === minute && each.result === 'stored')
        .filter(({ owners }) => owner === 0 || owners.has(owner));
      const sequences = counted.map(({ sequence }) => sequence);
      this.published.push({
        ...{ life, minute, owner, closed, version, ended: isLast ? 1 : 0, messages: counted.length },
        items: counted.reduce((sum, { owners }) => sum + (owners.get(owner) ?? 0), 0),
        sequenceFirst: sequences.length === 0 ? 0 : Math.min(...sequences),
        sequenceLast: Math.max(0, ...sequences),
      });
    }
    if (isCut) this.isBlurred = true;
    else receiver.written = closed;
  }

  private stopReceiver(): void {
    const receiver = this.anyReceiver();
    for (const message of receiver.messages) if (message.result === 'open') message.result = 'doubtful';
    receiver.state = 'ended';
    this.flush(receiver);
  }

  private kill(): void {
    this.anyReceiver().state = 'killed';
  }

  private linesOf({ life, serial, minute, owners }: Message, sequence: number): SettledRow[] {
    const named = owners.size > 0 ? [...owners] : [[0, 0] as const];
    return named.map(([owner, items]) => ({
      ...{ life, minute, serial, sequence, owner, items },
      ...{ owners: named.length, redrive: 0 },
    }));
  }

  /** Settles some of the first messages beyond the floor, in any order. Returns how many are left. */
  private settleSome(): number {
    const { messages } = this.stream;
    const waiting = [...messages].filter(([sequence]) => sequence > this.stream.floor);
    for (const [sequence, message] of waiting.sort(([a], [b]) => a - b).slice(0, 1 + this.random(6))) {
      if (this.random(5) === 0) continue;
      this.settled.push(...this.linesOf(message, sequence));
      // Its ack may be lost: it stays, and is settled again.
      if (this.random(10) > 0) messages.delete(sequence);
    }
    const { floor, last } = this.stream;
    let next = floor + 1;
    while (next <= last && !messages.has(next)) next++;
    this.stream.floor = next - 1;
    return waiting.length;
  }

  private purge(): void {
    this.stream.messages.clear();
    this.stream.floor = this.stream.last;
  }

  private deleteMessage(): void {
    const sequences = [...this.stream.messages.keys()];
    this.stream.messages.delete(sequences[this.random(sequences.length || 1)] ?? 0);
  }

  private cutTail(): void {
    const { stream, random } = this;
    stream.last = Math.max(0, stream.last - random(8));
    stream.floor = Math.min(stream.floor, stream.last);
    for (const sequence of [...stream.messages.keys()])
      if (sequence > stream.last) stream.messages.delete(sequence);
    this.wentBack = true;
  }

  private restoreCopy(): void {
    if (this.copy === undefined) return;
    this.stream = { ...this.copy, messages: new Map(this.copy.messages) };
    this.wentBack = true;
  }

  private moveConsumer(): void {
    this.stream.floor = this.stream.last;
  }

  /** The line of one of several owners. */
  private loseLine(): void {
    const lines = this.settled.filter(({ owners }) => owners > 1);
    const lost = lines[this.random(lines.length || 1)];
    this.settled = this.settled.filter(
      (each) =>
        lost === undefined ||
        each.sequence !== lost.sequence ||
        each.owner !== lost.owner ||
        each.life !== lost.life,
    );
  }

  /** All lines of a message. */
  private loseLines(): void {
    const lost = this.settled[this.random(this.settled.length || 1)];
    this.settled = this.settled.filter(({ life, serial }) => life !== lost?.life || serial !== lost.serial);
  }

  private loseDoubtful(): void {
    const lost = this.doubtful[this.random(this.doubtful.length || 1)];
    if (lost === undefined) return;
    this.doubtful = this.doubtful.filter(({ life, serial }) => life !== lost.life || serial !== lost.serial);
    this.isBlurred = true;
  }
}
