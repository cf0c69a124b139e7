import { Fault } from '../../model/fault.ts';
import { exampleText } from '../../model/text-forms.ts';
import { baseAtItem, type ItemPlace } from '../../model/uid.ts';
import type { ColumnCaps } from '../../wire/column-naming.ts';
import type { Run } from './encoded-points.ts';
import { encodeList } from './point-encoder.ts';
import type { PointTable } from './point-table.ts';
import { PushCursor } from './push-cursor.ts';

/** The result of a deferred point: its rows, or the reason why it has none. */
export type DeferredPoint =
  | {
      readonly kind: 'rows';
      readonly run: Run;
      /** Names that have no column yet: while any exist, the rows are void until the names are registered. */
      readonly newMetrics: readonly string[];
      readonly newDimensions: readonly string[];
    }
  | { readonly kind: 'dropped'; readonly reason: string; readonly detail: string };

/**
 * Encodes one deferred point (JSON, as a receiver got and kept it): the rows and uids that the receiver would have given it. Does
 * not check the windows of time: transfer has checked them against the time of arrival.
 */
export const encodeDeferredPoint = (
  item: unknown,
  place: ItemPlace,
  table: PointTable,
  caps: ColumnCaps,
  arrivedAt: number,
): DeferredPoint => {
  const cursor = new PushCursor();
  cursor.open(Buffer.from(`${JSON.stringify(item)}]`), 0);
  const listed = encodeList(cursor, {
    source: table,
    base: baseAtItem(place),
    arrivedAt,
    policy: { aheadMsMax: undefined, ageMsMax: undefined },
    // A deferred point has a time of its own: none is added.
    isKeyed: true,
    caps,
    namesAreFinal: false,
    pointsMax: 1,
    elementsMax: Number.MAX_SAFE_INTEGER,
  });
  if (listed === undefined) throw new Fault('internal', 'deferred_point', 'JSON of a point was not read');
  const { runs, dropped, examples, unknownMetrics, unknownDimensions } = listed.encoded;
  const [run] = runs;
  const [reason] = dropped.keys();
  if (run === undefined || reason !== undefined) {
    const [example] = examples;
    const detail = [example?.field, example && exampleText(example)]
      .filter((text) => (text ?? '') !== '')
      .join(': ');
    return { kind: 'dropped', reason: reason ?? 'point_not_object', detail };
  }
  return { kind: 'rows', run, newMetrics: [...unknownMetrics], newDimensions: [...unknownDimensions] };
};
