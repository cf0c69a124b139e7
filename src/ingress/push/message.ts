import type { Source } from '../../directory/directory.ts';
import type { TimePolicy } from '../../model/time.ts';
import type { UidBase } from '../../model/uid.ts';
import type { BookEntry, OwnerItems } from '../../outcomes/publishers-book.ts';
import type { Run } from '../../rules/points/encoded-points.ts';
import { envelopeVersion, frameParts, type Section, sectionsLength } from '../../wire/frame.ts';
import {
  type DeferredGroup,
  encodeEnvelope,
  type MetricsHeader,
  type Part,
  type ReceiverOutcomes,
} from '../../wire/metrics-envelope.ts';
import { followsFromRun, toldDays } from '../../wire/part-days.ts';

/** A uid base is high × 10⁹ + low. */
const billion = 1_000_000_000n;

/** A run of one request, on its way into a message. */
export type Fragment = {
  readonly source: Source;
  readonly base: UidBase;
  readonly run: Run;
  readonly arrivedAt: number;
  readonly policy: TimePolicy;
};

type DaySum = { rows: number; high: number; low: number };

/** The rows of several runs by event day. Sums are kept in two numbers, because a BigInt per run would cost more than the rest. */
const sumDays = (fragments: readonly Fragment[]): Map<number, DaySum> | undefined => {
  const sums = new Map<number, DaySum>();
  for (const { base, run } of fragments) {
    if (run.days.length === 0) return undefined;
    for (const { day, rows, ordinals } of run.days) {
      const sum = sums.get(day) ?? { rows: 0, high: 0, low: 0 };
      if (sum.rows === 0) sums.set(day, sum);
      sum.rows += rows;
      sum.high += rows * base.high;
      sum.low += rows * base.low + ordinals;
    }
  }
  return sums;
};

/** `days` of a part: none where rows have too many days. */
const daysOf = (fragments: readonly Fragment[]): Pick<Part, 'days'> => {
  const [only] = fragments;
  if (fragments.length === 1 && only !== undefined) {
    const { first, last, days } = only.run;
    if (followsFromRun(first, last, days)) return { days: [] };
  }
  const sums = sumDays(fragments);
  if (sums === undefined) return {};
  const days = toldDays(
    [...sums].map(([day, { rows, high, low }]) => [day, rows, BigInt(high) * billion + BigInt(low)]),
  );
  return days === undefined ? {} : { days };
};

const partOf = (fragments: readonly Fragment[], rowsBytes: number): Part | undefined => {
  const first = fragments[0];
  if (first === undefined) return undefined;
  let rows = 0;
  let points = 0;
  let timeMin = Number.MAX_SAFE_INTEGER;
  let timeMax = 0;
  for (const { run } of fragments) {
    rows += run.rows;
    points += run.points;
    timeMin = Math.min(timeMin, run.timeMin);
    timeMax = Math.max(timeMax, run.timeMax);
  }
  return {
    dataId: first.source.dataId,
    table: first.source.tableId,
    layout: first.source.layout,
    rows,
    points,
    base: first.base.text,
    first: first.run.first,
    last: first.run.last,
    timeMin,
    timeMax,
    ...daysOf(fragments),
    bytes: rowsBytes,
  };
};

const byDataId = (fragments: readonly Fragment[]): Map<number, Fragment[]> => {
  const groups = new Map<number, Fragment[]>();
  for (const fragment of fragments) {
    const group = groups.get(fragment.source.dataId);
    if (group === undefined) groups.set(fragment.source.dataId, [fragment]);
    else group.push(fragment);
  }
  return groups;
};

type Message = {
  readonly header: MetricsHeader;
  readonly sections: readonly Section[];
  readonly owners: readonly OwnerItems[];
};

/**
 * The envelope and the sections of one message of fragments: a part per data id, with the deferred points of each request beside
 * it; and its items by data id, as transfer will settle them.
 */
const messageOfFragments = (fragments: readonly Fragment[]): Message => {
  const parts: Part[] = [];
  const deferred: DeferredGroup[] = [];
  const outcomes: ReceiverOutcomes[] = [];
  const partSections: Section[] = [];
  const deferredSections: string[] = [];
  const owners: OwnerItems[] = [];
  for (const [dataId, group] of byDataId(fragments)) {
    let text = '';
    const bytes: Uint8Array[] = [];
    const dropped: Record<string, number> = {};
    let items = 0;
    let deferredBytes = 0;
    for (const { run, base, arrivedAt, policy } of group) {
      text += run.text;
      if (run.bytes !== undefined) bytes.push(run.bytes);
      for (const [reason, count] of run.dropped) {
        dropped[reason] = (dropped[reason] ?? 0) + count;
        items += count;
      }
      if (run.deferred.length === 0) continue;
      const section = `[${run.deferred.join(',')}]`;
      const sectionBytes = Buffer.byteLength(section);
      items += run.deferredOrdinals.length;
      deferredBytes += sectionBytes;
      deferredSections.push(section);
      const group = { dataId, arrivedAt, policy, base: base.text };
      deferred.push({ ...group, ordinals: run.deferredOrdinals, bytes: sectionBytes });
    }
    const hasDropped = Object.keys(dropped).length > 0;
    if (hasDropped) outcomes.push({ dataId, dropped });
    // Written one after the other, these pieces form one section.
    const rows: Section[] = text === '' ? bytes : [text, ...bytes];
    const rowsBytes = sectionsLength(rows);
    const part =
      rowsBytes === 0
        ? undefined
        : partOf(
            group.filter((fragment) => fragment.run.rows > 0),
            rowsBytes,
          );
    if (part !== undefined) {
      parts.push(part);
      partSections.push(...rows);
      items += part.points;
    }
    if (items > 0)
      owners.push({
        owner: dataId,
        items,
        rows: part?.rows ?? 0,
        bytes: (part?.bytes ?? 0) + deferredBytes,
        dropped: hasDropped ? dropped : undefined,
      });
  }
  const [first] = fragments;
  const header: MetricsHeader = {
    version: envelopeVersion,
    kind: 'metrics',
    arrivedAt: first?.arrivedAt ?? 0,
    ...(first === undefined ? {} : { key: { base: first.base.text, first: first.run.first } }),
    parts,
    deferred,
    outcomes,
  };
  return { header, sections: [...partSections, ...deferredSections], owners };
};

/** Builds one message of fragments. */
export const buildMessage = (fragments: readonly Fragment[]): Buffer => {
  const { header, sections } = messageOfFragments(fragments);
  return encodeEnvelope(header, sections);
};

/** The parts of the same message, and its entry in the publishers' book. */
export const messageParts = (fragments: readonly Fragment[]): { payload: Section[]; entry: BookEntry } => {
  const { header, sections, owners } = messageOfFragments(fragments);
  const { arrivedAt, key = { base: '0', first: 0 } } = header;
  return { payload: frameParts(header, sections), entry: { arrivedAt, key, owners } };
};
