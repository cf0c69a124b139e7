import { useMemo, useState } from 'preact/hooks';
import { endOf, type Row } from './tree.ts';
import type { Zoom } from './window.ts';

const width = 1000;
const height = 60;

/** The spans as one path: a stroke each, in the order of the rows. */
const strokesOf = (rows: readonly Row[], durationNs: number, isDrawn: (row: Row) => boolean): string => {
  const scale = width / Math.max(1, durationNs);
  return rows
    .map((row, at) => {
      if (!isDrawn(row)) return '';
      const from = row.span.offset_ns * scale;
      const length = Math.max(1, endOf(row.span) * scale - from);
      return `M${from.toFixed(1)} ${((at / rows.length) * height).toFixed(1)}h${length.toFixed(1)}`;
    })
    .join('');
};

type MinimapProps = {
  readonly rows: readonly Row[];
  readonly durationNs: number;
  readonly zoom: Zoom;
  readonly sight: readonly [first: number, last: number];
  readonly onZoom: (zoom: Zoom) => void;
  readonly onRow: (row: number) => void;
};

/** The whole trace in small: a drag zooms to a time, a click goes to the rows there. The keys of the spans do the same. */
export const Minimap = ({ rows, durationNs, zoom, sight, onZoom, onRow }: MinimapProps) => {
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  const all = useMemo(() => strokesOf(rows, durationNs, () => true), [rows, durationNs]);
  const failed = useMemo(() => strokesOf(rows, durationNs, ({ isFailed }) => isFailed), [rows, durationNs]);
  const placeOf = (event: PointerEvent): { x: number; y: number } => {
    const box = event.currentTarget instanceof Element && event.currentTarget.getBoundingClientRect();
    if (!box) return { x: 0, y: 0 };
    const share = (value: number): number => Math.min(1, Math.max(0, value));
    return {
      x: share((event.clientX - box.left) / box.width),
      y: share((event.clientY - box.top) / box.height),
    };
  };
  const finish = (event: PointerEvent): void => {
    if (drag === undefined) return;
    const { x, y } = placeOf(event);
    setDrag(undefined);
    const [from, to] = [Math.min(drag.from, x), Math.max(drag.from, x)];
    if (to - from > 0.01) onZoom({ from: from * durationNs, to: to * durationNs });
    else onRow(Math.min(rows.length - 1, Math.floor(y * rows.length)));
  };
  const scale = width / Math.max(1, durationNs);
  const lined = height / Math.max(1, rows.length);
  return (
    <svg
      class="minimap"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      onPointerDown={(event) => {
        const { x } = placeOf(event);
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ from: x, to: x });
      }}
      onPointerMove={(event) => drag !== undefined && setDrag({ from: drag.from, to: placeOf(event).x })}
      onPointerUp={finish}
      onPointerCancel={() => setDrag(undefined)}
    >
      <path class="strokes" d={all} stroke-width={Math.max(1, lined * 0.7)} />
      <path class="strokes failed" d={failed} stroke-width={Math.max(2, lined * 0.7)} />
      <rect
        class="sight"
        y={sight[0] * lined}
        width={width}
        height={Math.max(2, (sight[1] - sight[0]) * lined)}
      />
      <rect class="beside" width={zoom.from * scale} height={height} />
      <rect class="beside" x={zoom.to * scale} width={Math.max(0, width - zoom.to * scale)} height={height} />
      {drag !== undefined && (
        <rect
          class="span"
          x={Math.min(drag.from, drag.to) * width}
          width={Math.abs(drag.to - drag.from) * width}
          height={height}
        />
      )}
    </svg>
  );
};
