import { type ApplicationPipeline, signals } from '../../model/signals.ts';
import type { UidBase } from '../../model/uid.ts';
import type { BookEntry, OwnerItems } from '../../outcomes/publishers-book.ts';
import {
  type BlockPart,
  type BlocksHeader,
  type DeferredItems,
  encodeBlocksEnvelope,
} from '../../wire/blocks-envelope.ts';
import { envelopeVersion, frameParts, type Section } from '../../wire/frame.ts';
import type { ItemsPart, ItemsRun } from '../../wire/otlp/types.ts';
import { followsFromRun, toldDays } from '../../wire/part-days.ts';

/** What a run of a request needs to become a message. */
export type ItemsFragment = {
  readonly pipeline: ApplicationPipeline;
  readonly run: ItemsRun;
  readonly base: UidBase;
  readonly arrivedAt: number;
  /** Base of the key of its outcome record, where it differs from the base of its uids. */
  readonly keyBase?: UidBase;
  /** A retry of the request may bring the same rows in a message with another id. */
  readonly mayOverlap?: boolean;
};

/** `days` of a part whose ordinals do not follow from those of the run. */
const daysOf = (
  { first, last }: ItemsRun,
  { base }: Pick<ItemsFragment, 'base'>,
  { day, rows, ordinals }: ItemsPart,
): Pick<BlockPart, 'days'> => {
  if (followsFromRun(first, last, [{ rows }])) return {};
  const days = toldDays([[day, rows, BigInt(base.text) * BigInt(rows) + BigInt(ordinals)]]);
  return days === undefined ? {} : { days };
};

/** The parts of one message of one run: its envelope, its blocks and its deferred items. */
const itemsMessage = ({
  pipeline,
  run,
  base,
  arrivedAt,
  keyBase = base,
  mayOverlap = false,
}: ItemsFragment): { header: BlocksHeader; sections: Uint8Array[] } => {
  const deferredSections = run.deferred.map(({ texts }) => Buffer.from(`[${texts.join(',')}]`));
  const parts = run.parts.map((part): BlockPart => {
    const { appId, bizId, day, itemTable, rows, timeMin, timeMax, block } = part;
    const uids = { base: base.text, first: run.first, last: run.last };
    return {
      ...{ appId, bizId, day, rows, ...uids, timeMin, timeMax },
      ...daysOf(run, { base }, part),
      ...(itemTable === undefined ? {} : { itemTable }),
      bytes: block.length,
    };
  });
  const deferred: DeferredItems[] = run.deferred.map(({ appId, policy, ordinals }, index) => ({
    appId,
    arrivedAt,
    policy,
    base: base.text,
    ordinals,
    bytes: deferredSections[index]?.length ?? 0,
  }));
  const header: BlocksHeader = {
    version: envelopeVersion,
    kind: signals[pipeline].kind,
    arrivedAt,
    key: { base: keyBase.text, first: run.first },
    ...(mayOverlap ? { mayOverlap } : {}),
    parts,
    deferred,
    outcomes: run.dropped.map(({ appId, reasons }) => ({ appId, dropped: Object.fromEntries(reasons) })),
  };
  return { header, sections: [...run.parts.map((part) => part.block), ...deferredSections] };
};

type Counts = {
  owner: number;
  items: number;
  rows: number;
  bytes: number;
  dropped: Record<string, number> | undefined;
};

/** The items of a message by application, as transfer will settle them. */
const ownersOf = ({ parts, deferred, outcomes }: BlocksHeader): OwnerItems[] => {
  const owners = new Map<number, Counts>();
  const countsOf = (owner: number): Counts => {
    let counts = owners.get(owner);
    if (counts === undefined) {
      counts = { owner, items: 0, rows: 0, bytes: 0, dropped: undefined };
      owners.set(owner, counts);
    }
    return counts;
  };
  for (const { appId, rows, bytes } of parts) {
    const counts = countsOf(appId);
    counts.items += rows;
    counts.rows += rows;
    counts.bytes += bytes;
  }
  for (const { appId, ordinals, bytes } of deferred) {
    const counts = countsOf(appId);
    counts.items += ordinals.length;
    counts.bytes += bytes;
  }
  for (const { appId, dropped } of outcomes) {
    const counts = countsOf(appId);
    counts.dropped ??= {};
    for (const [reason, items] of Object.entries(dropped)) {
      counts.items += items;
      counts.dropped[reason] = (counts.dropped[reason] ?? 0) + items;
    }
  }
  return [...owners.values()].filter(({ items }) => items > 0);
};

/** One message of one run. */
export const buildItemsMessage = (fragment: ItemsFragment): Buffer => {
  const { header, sections } = itemsMessage(fragment);
  return encodeBlocksEnvelope(header, sections);
};

/** The parts of the same message, the blocks as they are, and its entry in the publishers' book. */
export const itemsMessageParts = (fragment: ItemsFragment): { payload: Section[]; entry: BookEntry } => {
  const { header, sections } = itemsMessage(fragment);
  const { arrivedAt, key = { base: '0', first: 0 } } = header;
  return { payload: frameParts(header, sections), entry: { arrivedAt, key, owners: ownersOf(header) } };
};
