import {
  type LostLettersDependencies,
  textOfLetter,
  textOfOwnLetter,
} from '../../../src/account/lost-letters.ts';
import type { OpenLetterOf } from '../../../src/outcomes/record-reader.ts';
import type { Random } from '../otlp/plain/mutations.ts';

const stream = 'METRICS';

/** Where the one copy of a letter is; `settled`: its redrive or purge has its record, on its way to ClickHouse or there. */
type State = 'kept' | 'published' | 'in stream' | 'settled' | 'lost';

type ModelLetter = { readonly letter: OpenLetterOf; state: State; sequence: number };

/** Dead letters, their redrives and losses, one act at a time. Every read may meet further acts before it. */
export class LetterHistory {
  readonly letters: ModelLetter[] = [];
  /** What was done. */
  readonly acts = { lost: 0, redriven: 0, again: 0 };
  /** Acts go on while the search reads. */
  isBusy = true;
  /** Records in the order of LEDGER; those below `written` are in ClickHouse. */
  private readonly records: { readonly names?: OpenLetterOf; readonly moves?: string }[] = [];
  private written = 0;
  private last = 0;
  private next = 0;
  private readonly random: Random;
  private readonly waitingMax: number;

  constructor(random: Random) {
    this.random = random;
    this.waitingMax = random(4) === 0 ? 1 : 100;
  }

  /** One random act. */
  act(): void {
    const kind = this.random(12);
    if (kind < 3) this.deadLetter();
    else if (kind < 5) this.one('kept', (each) => this.publish(each));
    else if (kind < 7) this.one('published', (each) => this.remove(each));
    else if (kind < 9) this.one('in stream', (each) => this.settle(each));
    else if (kind === 9) this.written = Math.min(this.records.length, this.written + this.random(4));
    else if (kind === 10) this.one('kept', (each) => this.purge(each));
    else this.one(this.random(2) === 0 ? 'kept' : 'in stream', (each) => this.lose(each));
  }

  /** All that is on its way arrives, and nothing happens any more. */
  rest(): void {
    this.isBusy = false;
    for (const each of this.letters) if (each.state === 'published') this.remove(each);
    while (this.letters.some(({ state }) => state === 'in stream'))
      for (const each of this.letters) if (each.state === 'in stream') this.settle(each);
    this.written = this.records.length;
  }

  get lost(): string[] {
    return this.letters
      .filter(({ state }) => state === 'lost')
      .map(({ letter }) => textOfOwnLetter(letter))
      .toSorted();
  }

  get dependencies(): LostLettersDependencies {
    return {
      streamOf: () => stream,
      readOpen: () =>
        this.during(() => {
          const records = this.records.slice(0, this.written);
          const moved = new Set(records.map(({ moves }) => moves));
          return records
            .flatMap(({ names }) => (names === undefined ? [] : [names]))
            .filter((letter) => !moved.has(textOfOwnLetter(letter)));
        }),
      readKept: () =>
        this.during(
          () =>
            new Set(
              this.letters
                .filter(({ state }) => state === 'kept' || state === 'published')
                .map(({ letter }) => textOfOwnLetter(letter)),
            ),
        ),
      readEnds: () => this.during(() => new Map([[stream, this.last]])),
      readRedrives: (_, last) =>
        this.during(() => {
          const waiting = this.letters.filter(
            ({ state, sequence }) =>
              (state === 'published' || state === 'in stream') && sequence > 0 && sequence <= last,
          );
          if (waiting.length > this.waitingMax) return undefined;
          return new Set(waiting.map(({ letter }) => textOfLetter(letter)));
        }),
      untilRecorded: () =>
        this.during(() => {
          this.written = this.records.length;
        }),
    };
  }

  private async during<T>(read: () => T): Promise<T> {
    for (let count = this.isBusy ? this.random(4) : 0; count > 0; count--) this.act();
    return read();
  }

  private one(state: State, act: (letter: ModelLetter) => void): void {
    const those = this.letters.filter((each) => each.state === state);
    const letter = those[this.random(Math.max(1, those.length))];
    if (letter !== undefined) act(letter);
  }

  /** The letter is stored before the record that names it. */
  private deadLetter(of?: OpenLetterOf): void {
    const letter: OpenLetterOf =
      of === undefined
        ? {
            ...{ pipeline: 'metrics', data_id: 1 + this.random(2), app_id: 0, base: String(++this.next) },
            ...{ first: 0, minute: 60 * this.random(3), redrive: 0, ordinal: -1, items: 1 + this.random(3) },
          }
        : { ...of, redrive: of.redrive + 1 };
    this.letters.push({ letter, state: 'kept', sequence: 0 });
    const moves = of === undefined ? {} : { moves: textOfOwnLetter(of) };
    this.records.push({ names: letter, ...moves });
  }

  private publish(each: ModelLetter): void {
    each.state = 'published';
    each.sequence = ++this.last;
    this.acts.redriven++;
  }

  private remove(each: ModelLetter): void {
    each.state = 'in stream';
  }

  private settle(each: ModelLetter): void {
    each.state = 'settled';
    if (this.random(4) !== 0) this.records.push({ moves: textOfOwnLetter(each.letter) });
    else {
      this.deadLetter(each.letter);
      this.acts.again++;
    }
  }

  private purge(each: ModelLetter): void {
    each.state = 'settled';
    this.records.push({ moves: textOfOwnLetter(each.letter) });
  }

  private lose(each: ModelLetter): void {
    each.state = 'lost';
    this.acts.lost++;
  }
}
