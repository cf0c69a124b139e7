import { setTimeout as delay } from 'node:timers/promises';
import type { Bus } from '../bus/connection.ts';
import { createStreamReader, type StreamReader } from '../bus/stream-reader.ts';
import { readStream } from '../bus/stream-state.ts';
import type { Orphan } from '../dead-letters/orphans.ts';
import type { Pipeline } from '../model/signals.ts';
import type { Clickhouse } from '../stores/clickhouse/client.ts';
import type { Log } from '../telemetry/log.ts';
import { readArrivedRows } from './arrived-rows.ts';
import { countSequences, lastSettled, readBooks, readDoubtful, withoutLine } from './books.ts';
import {
  compareBooks,
  countThere,
  type Evidence,
  type HeldMessage,
  type Published,
  type Queue,
} from './compare.ts';
import { comparedIn, knownLosses, newlyLostIn, readStoredGaps } from './compared-differences.ts';
import { type Difference, isOfStore, type Owner, streamOfStore } from './difference.ts';
import { createDueMinutes, firstSeconds, windowSeconds } from './due-minutes.ts';
import { createEarlierRows } from './earlier-rows.ts';
import { explainLosses, type LossEvidence, mergeEqual } from './explain-losses.ts';
import { type FoundDifferences, openFoundDifferences } from './found.ts';
import { createLettersLook, type LettersLook } from './letters-look.ts';
import { minuteKey } from './listed-minutes.ts';
import { createLookAside, type LookAside } from './look-aside.ts';
import { isOfLetters } from './lost-letters.ts';
import { type MissingRecords, readMissingRecords } from './missing-records.ts';
import { notNamedByBooks } from './named-rows.ts';
import { sumOrphans } from './orphan-sums.ts';
import { type Outline, readOutlines } from './outlines.ts';
import type { AccountedStream } from './queue-state.ts';
import { noRecords, readRecordSums, recordedText, recordsKey } from './record-sums.ts';
import { readItemsBeyond } from './records-beyond.ts';
import { createNotedLives, createSilentLives, readLives, type SilentLivesWatch } from './silent-lives.ts';
import type { StoreDifference } from './store-compare.ts';
import { addStoreFindings, mergeFindings } from './store-findings.ts';
import type { StoreLook } from './store-look.ts';
import { createStreamEnds, type NatsIdentity, type StreamEnds } from './stream-ends.ts';
import {
  heldOfLossMax,
  heldOfMovingMax,
  isHaltedSince,
  lookAtStream,
  type StreamLook,
} from './stream-look.ts';
import { createToldLosses, readToldLosses, readToldStreams, type ToldLosses } from './told-doubtful.ts';
import { createTouchedTables, type TouchedTables } from './touched-tables.ts';
import { createUncounted, type Uncounted } from './uncounted.ts';
import { createUntilRecorded } from './until-recorded.ts';

export type LookDependencies = {
  readonly bus: Bus;
  readonly clickhouse: Clickhouse;
  readonly streams: readonly AccountedStream[];
  /** Those of QuestDB instances that the setting lacks, as they are now. Throws the Faults of NATS. */
  readonly furtherStreams?: () => Promise<readonly AccountedStream[]>;
  /** The stream that brings the items of an owner; undefined while that is not known. By default the one of the signal. */
  readonly streamOf?: (pipeline: Pipeline, owner: number) => string | undefined;
  /** Stream and consumer that carry the lines of both books. */
  readonly ledger: AccountedStream;
  readonly stores: StoreLook;
  /** Dead letters that no record counts; some thousands at most. Throws the Faults of NATS and ClickHouse. */
  readonly findOrphans: () => Promise<readonly Orphan[]>;
  readonly nats: NatsIdentity;
  readonly log: Pick<Log, 'warn'>;
  readonly stop: AbortSignal;
};

export type LookResult = {
  /** How long the look only waited, ms. */
  readonly waitedMs: number;
  /** It found what the one before had found, and nothing halts: what is lost from now on shows in one look. */
  readonly isCalm: boolean;
  /** A difference is there. */
  readonly hasFound: boolean;
};

/** Compares the books, again and again. Throws the Faults of NATS and ClickHouse: then the account is not known. */
export type Look = () => Promise<LookResult>;

class Looks {
  private readonly deps: LookDependencies;
  private readonly reader: StreamReader;
  private readonly minutes = createDueMinutes({ now: Date.now, elapsed: performance.now.bind(performance) });
  private readonly touched: TouchedTables;
  private readonly queues = new Map<string, Queue>();
  /** Streams with a long queue that does not move and that lacks messages. */
  private readonly lacking = new Set<string>();
  private readonly untilRecorded: () => Promise<number>;
  private readonly uncounted: Uncounted;
  private readonly ends: StreamEnds;
  private readonly letters: LettersLook;
  private readonly silent: SilentLivesWatch;
  /** Lives whose end without a last line was compared. */
  private readonly noted = createNotedLives();
  private found: FoundDifferences | undefined;
  private readonly told: ToldLosses;
  /** By stream and minute, of those with something unrecorded: items of owners whose rows the store has without a record. */
  private readonly byStore = new Map<string, ReadonlyMap<string, number>>();
  private readonly storeLook: LookAside;
  private readonly earlierRows = createEarlierRows(() => Math.floor(Date.now() / 1_000));
  /** Whether messages of a stream wait and none was settled since the look before. */
  private isHalted = false;
  /** All streams of this look. */
  private streams: readonly AccountedStream[];
  /** Lines were changed or removed since the last look at the letters that ended. */
  private isTouchedForLetters = false;
  /** The last look at the stores saw a day begin to change, or has not ended. */
  private isStoreSearched = false;
  /** How long this look has waited for what is on its way to the stores, ms. */
  private storesWaitedMs = 0;
  /** What the stores differ in, before the books name some of it. */
  private ofStores: readonly StoreDifference[] = [];

  constructor(deps: LookDependencies) {
    this.deps = deps;
    this.streams = deps.streams;
    this.reader = createStreamReader(deps.bus);
    this.untilRecorded = createUntilRecorded({ ...deps, reader: this.reader });
    this.touched = createTouchedTables(deps.clickhouse);
    this.told = createToldLosses((stream) => readToldLosses(deps.clickhouse, stream));
    this.storeLook = createLookAside({
      look: () => deps.stores.look(),
      elapsed: performance.now.bind(performance),
      rest: (ms) => delay(ms, undefined, { signal: deps.stop }),
    });
    this.silent = createSilentLives(
      (seconds) => readLives(deps.clickhouse, seconds),
      windowSeconds,
      performance.now.bind(performance),
    );
    this.uncounted = createUncounted({
      countSequences: (stream, first, last) => countSequences(deps.clickhouse, stream, first, last),
      lastSettled: (stream, floor) => lastSettled(deps.clickhouse, stream, floor, firstSeconds),
      elapsed: performance.now.bind(performance),
      now: Date.now,
    });
    this.ends = createStreamEnds({ ...deps, elapsed: performance.now.bind(performance) });
    this.letters = createLettersLook({
      ...{ bus: deps.bus, clickhouse: deps.clickhouse, streams: () => this.streams },
      streamOf: ({ pipeline, data_id, app_id }) =>
        (deps.streamOf ?? streamOfStore)(pipeline, data_id || app_id),
      untilRecorded: this.untilRecorded,
      ...this.rowsOfStores(),
    });
  }

  /** The order matters: what was acknowledged when the streams were read has its line in ClickHouse when the books are read. */
  async look(): Promise<LookResult> {
    const { bus, clickhouse } = this.deps;
    // Without ClickHouse LEDGER is not written either: a look that waited for that first would name the wrong cause, a minute late.
    await clickhouse.ping();
    this.found ??= await openFoundDifferences(clickhouse, performance.now.bind(performance));
    this.storesWaitedMs = 0;
    const { found } = this;
    this.streams = [...this.deps.streams, ...((await this.deps.furtherStreams?.()) ?? [])];
    this.reopen(await found.takeOver());
    await this.ends.begin();
    this.earlierRows.note(found.all);
    const changesBefore = found.changes;
    this.isHalted = false;
    const looks = new Map<string, StreamLook>();
    for (const stream of this.streams) {
      const { name } = stream;
      if (stream.isUnread === true) continue;
      const isLacking = this.lacking.has(name);
      const hasStuck = [...found.all].some((each) => each.stream === name && each.kind === 'stuck');
      const before = this.queues.get(name);
      const from = { bus, reader: this.reader };
      const look = await lookAtStream(from, stream, before, isLacking, hasStuck);
      this.isHalted ||= look.isHalted;
      looks.set(name, look);
      // Also while LEDGER waits, whose lines would name the messages. Gaps below the floor are not reported before.
      if (await this.ends.note(name, look.queue)) this.isHalted = true;
    }
    const waitedMs = await this.untilRecorded();
    const { isTouched, hasDoubtful } = await this.touched.look();
    this.isTouchedForLetters ||= isTouched;
    const outlines = await readOutlines(clickhouse, this.minutes.begin(isTouched));
    const toldStreams = hasDoubtful ? await readToldStreams(clickhouse) : new Set<string>();
    for (const [name, { queue, isHalted, ...waiting }] of looks) {
      await this.told.read(name, queue, toldStreams.has(name), found.all);
      const { held } = waiting;
      const look: StreamLook = {
        ...{ queue, isHalted },
        stuck: await withoutLine(clickhouse, name, waiting.stuck),
        held: held === undefined ? undefined : await withoutLine(clickhouse, name, held),
        passed: await withoutLine(clickhouse, name, waiting.passed),
      };
      this.isHalted ||= look.passed.length > 0;
      await this.compare(name, look, outlines, found);
      await this.ends.find(name, { ...look, redrives: this.letters.redrivesIn(name) }, found);
      await this.noteLacking(name, queue);
      this.queues.set(name, queue);
    }
    this.minutes.end();
    await this.lookAtStores(found);
    this.earlierRows.note(found.all);
    const lettersWaitedMs = await this.letters.look(found, this.isTouchedForLetters);
    this.isTouchedForLetters = false;
    const isSearching = this.isStoreSearched || this.letters.isSearching;
    const isCalm = !this.isHalted && !isSearching && found.changes === changesBefore;
    return { waitedMs: waitedMs + lettersWaitedMs + this.storesWaitedMs, isCalm, hasFound: !found.isEmpty };
  }

  /** What other processes have stored of these may not be what this one finds. */
  private reopen(changed: readonly Difference[]): void {
    const names = new Set(this.streams.map(({ name }) => name));
    for (const each of changed) {
      if (isOfLetters(each)) this.isTouchedForLetters = true;
      else if (!isOfStore(each) && names.has(each.stream)) this.minutes.reopen(each.stream, each.minute);
    }
  }

  /** Between two looks at the stores, what the books name by now is taken off what was found there. */
  private async lookAtStores(found: FoundDifferences): Promise<void> {
    const startedAt = performance.now();
    const findings = await this.storeLook.take();
    this.isStoreSearched = this.storeLook.isRunning || findings?.isNextSoon === true;
    this.storesWaitedMs += performance.now() - startedAt;
    if (findings === undefined) {
      if (this.ofStores.length > 0)
        await addStoreFindings(found, { differences: this.ofStores, compared: [] }, this.byStore);
      return;
    }
    const { isLeftOut } = findings;
    this.ofStores = mergeFindings(this.ofStores, findings).filter(
      ({ pipeline, dataId, appId, day }) => !isLeftOut(pipeline, dataId || appId, day),
    );
    await addStoreFindings(found, { ...findings, differences: this.ofStores }, this.byStore, isLeftOut);
    await found.replace(({ kind }) => kind === 'orphan', sumOrphans(await this.deps.findOrphans()));
  }

  /**
   * Notes whether a long queue lacks messages: sequences beyond its floor that are neither there nor settled. To be called once all lines of
   * before the look are in ClickHouse: it never finds one too many.
   */
  private async noteLacking(stream: string, queue: Queue): Promise<void> {
    this.lacking.delete(stream);
    const { exists, floor, last, messages } = queue;
    const isHalted = isHaltedSince(this.queues.get(stream), queue);
    if (!exists || !isHalted || messages <= heldOfMovingMax || messages > heldOfLossMax) return;
    const settled = await countSequences(this.deps.clickhouse, stream, floor + 1, last);
    if (messages + settled < last - floor) this.lacking.add(stream);
  }

  private async compare(
    stream: string,
    { queue, stuck, passed, ...look }: StreamLook,
    outlines: readonly Outline[],
    found: FoundDifferences,
  ): Promise<void> {
    const { clickhouse } = this.deps;
    const silentLives = await this.silent.of(stream);
    const due = new Set(this.minutes.of(stream, outlines, queue.exists));
    for (const each of found.all) if (each.stream === stream && each.kind === 'stuck') due.add(each.minute);
    for (const { minute } of stuck) due.add(minute);
    for (const [life, minute] of silentLives) if (!this.noted.has(stream, life)) due.add(minute);
    for (const minute of this.told.recentMinutes(stream)) due.add(minute);
    const minutes = [...due];
    const books =
      minutes.length === 0
        ? { published: [], settled: [], messages: [] }
        : await readBooks(clickhouse, stream, minutes);
    const heads = books.published.filter(({ dataId, appId }) => dataId === 0 && appId === 0);
    const held = await this.stillHeld(stream, look.held);
    const waiting = [...stuck, ...passed, ...(held ?? [])];
    const gaps = await this.gapsOf(stream, queue, heads, books.messages, waiting);
    const isDoubtful = await readDoubtful(clickhouse, stream, waiting);
    const evidence: Evidence = {
      stream,
      queue: { ...queue, end: await this.endOf(stream, queue) },
      ...books,
      isDoubtful,
      stuck: stuck.filter(({ minute }) => due.has(minute)),
      held,
      passed,
      silent: new Set(silentLives.keys()),
      gapsOf: (head) => gaps.get(head) ?? 0,
    };
    const { differences, pending, unjudged, lost } = compareBooks(evidence);
    const redrives = this.letters.redrivesIn(stream);
    // What is called unrecorded in these minutes explains no other one until they are compared.
    for (const minute of minutes) this.byStore.set(minuteKey(stream, minute), new Map());
    const withoutRecord = await this.missingRecords(stream, minutes, outlines);
    const explained = await explainLosses(differences, {
      recorded: await readItemsBeyond(clickhouse, stream, differences),
      ...this.rowsOfStores(),
      rowsArrived: (losses) => readArrivedRows(clickhouse, losses, this.earlierRows.days),
      known: knownLosses(stream, found.all),
      withoutRecord: withoutRecord.map((each) => ({ ...each, kind: 'unrecorded', stream })),
    });
    for (const minute of minutes) this.byStore.delete(minuteKey(stream, minute));
    for (const { kind, minute } of explained.differences)
      if (kind === 'unrecorded') this.byStore.set(minuteKey(stream, minute), new Map());
    for (const [minute, owners] of explained.byMinute) this.byStore.set(minuteKey(stream, minute), owners);
    const newlyLost = newlyLostIn(stream, lost, explained.differences, found.all);
    const compared = { heads, minutes, pending, lost, newlyLost, stuck, redrives };
    const inGaps = await this.uncounted.find(stream, queue, compared, () => readStoredGaps(found, stream));
    const wokenAt = this.noted.wokenAt(stream, silentLives);
    const changedAt = new Set(inGaps.map(({ minute }) => minute));
    await found.replace(
      comparedIn({ stream, minutes: due.difference(unjudged), gapMinutes: changedAt, wokenAt }),
      mergeEqual([
        ...explained.differences,
        ...this.told.of(stream, due),
        ...inGaps.filter(({ messages }) => messages > 0),
      ]),
    );
    this.uncounted.written(stream);
    this.minutes.compared(stream, minutes, pending);
    this.noted.compared(stream, silentLives, heads);
  }

  /** The same messages; undefined where lines of some came while the books were read, which may have them: the next look knows. */
  private async stillHeld(
    stream: string,
    held: readonly HeldMessage[] | undefined,
  ): Promise<readonly HeldMessage[] | undefined> {
    if (held === undefined) return undefined;
    const left = await withoutLine(this.deps.clickhouse, stream, held);
    return left.length === held.length ? held : undefined;
  }

  /** Messages of these minutes without a record. The records of most minutes are, by number and sum, those that their lines name. */
  private async missingRecords(
    stream: string,
    minutes: readonly number[],
    outlines: readonly Outline[],
  ): Promise<MissingRecords[]> {
    const { clickhouse } = this.deps;
    const placed = new Map(outlines.map((each) => [recordsKey(each.stream, each.minute), each.placed]));
    const recorded = await readRecordSums(clickhouse, minutes);
    const unequal = minutes.filter((minute) => {
      const key = recordsKey(stream, minute);
      const named = placed.get(key) ?? noRecords;
      return named !== recordedText(named, recorded.get(key));
    });
    return readMissingRecords(clickhouse, stream, unequal);
  }

  /** The last sequence of the stream, read after the books: it tells messages that came meanwhile from a tail that was cut. */
  private async endOf(stream: string, queue: Queue): Promise<number> {
    if (!queue.exists) return queue.last;
    const { stream: now } = await readStream(this.deps.bus, stream);
    return now.state.last_seq;
  }

  private rowsOfStores(): Pick<LossEvidence, 'unrecordedRows' | 'rowsBefore'> {
    return {
      unrecordedRows: (owners) => this.rowsBeyond(owners),
      rowsBefore: (owner, minute) => this.earlierRows.before(owner, minute),
    };
  }

  /** Rows of each owner that the store has without a record, less those that explain other minutes. */
  private async rowsBeyond(owners: readonly Owner[]): Promise<ReadonlyMap<string, number>> {
    const unrecorded = await this.deps.stores.unrecorded(owners);
    this.storesWaitedMs += unrecorded.waitedMs;
    const rows = this.earlierRows.read(unrecorded.rows);
    return notNamedByBooks(rows, unrecorded.rows, this.found?.all ?? [], this.byStore);
  }

  /** Missing sequences, for the lines that lack messages. */
  private async gapsOf(
    stream: string,
    { exists, last }: Queue,
    heads: readonly Published[],
    messages: Evidence['messages'],
    waiting: readonly HeldMessage[],
  ): Promise<Map<Published, number>> {
    const counted = new Map(messages.map(({ life, minute, ...each }) => [`${life} ${minute}`, each.counted]));
    const gaps = new Map<Published, number>();
    for (const head of heads) {
      if (head.messages <= (counted.get(`${head.life} ${head.minute}`) ?? 0)) continue;
      // Beyond the end of the stream is no gap: those sequences were taken back. Of a stream that is gone it is not known.
      const end = exists ? Math.min(head.sequenceLast, last) : head.sequenceLast;
      if (head.sequenceFirst === 0 || end < head.sequenceFirst) continue;
      const known = await countSequences(this.deps.clickhouse, stream, head.sequenceFirst, end);
      const there = countThere(waiting, head.sequenceFirst, end);
      gaps.set(head, Math.max(0, end - head.sequenceFirst + 1 - known - there));
    }
    return gaps;
  }
}

export const createLook = (deps: LookDependencies): Look => {
  const looks = new Looks(deps);
  return () => looks.look();
};
