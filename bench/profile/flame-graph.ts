import type { Call } from './call-tree.ts';

const [width, rowHeight, margin, head] = [1600, 17, 10, 34];
/** A narrower call would be no visible box. */
const widthMin = 0.4;
const charWidth = 6.6;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** The program's own code, packages, Node.js, and V8 with its garbage collector. */
const colourOf = ({ place }: Call): string => {
  if (place === '') return '#c9c9c9';
  if (place.startsWith('node:')) return '#9ecae1';
  return place.includes('node_modules/') ? '#c7b8e0' : '#fdae6b';
};

const depthOf = ({ children }: Call): number => 1 + Math.max(0, ...children.map(depthOf));

/**
 * A flame graph as SVG: the width of a box is the time of a call with those that it makes, and a call stands on its caller. The
 * title of a box has its place and its figures.
 */
export const flameGraph = (top: Call, title: string): string => {
  const depth = depthOf(top);
  const height = head + depth * rowHeight + margin;
  const scale = (width - 2 * margin) / Math.max(top.totalMs, Number.MIN_VALUE);
  const boxes: string[] = [];
  const draw = (call: Call, x: number, level: number): void => {
    const boxWidth = call.totalMs * scale;
    if (boxWidth < widthMin) return;
    const y = height - margin - (level + 1) * rowHeight;
    const share = ((100 * call.totalMs) / top.totalMs).toFixed(1);
    const figures = `${share} %, ${call.totalMs.toFixed(0)} ms, own ${call.selfMs.toFixed(0)} ms`;
    const shown = call.name.slice(0, Math.floor((boxWidth - 4) / charWidth));
    const label =
      shown.length > 2 ? `<text x="${(x + 3).toFixed(1)}" y="${y + 12}">${escaped(shown)}</text>` : '';
    boxes.push(
      `<g><title>${escaped(`${call.name} ${call.place}: ${figures}`)}</title><rect x="${x.toFixed(1)}" y="${y}" ` +
        `width="${Math.max(boxWidth - 0.3, 0.2).toFixed(1)}" height="${rowHeight - 1}" fill="${colourOf(call)}"/>${label}</g>`,
    );
    let at = x;
    for (const child of call.children.toSorted((a, b) => b.totalMs - a.totalMs)) {
      draw(child, at, level + 1);
      at += child.totalMs * scale;
    }
  };
  draw(top, margin, 0);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    '<style>text { font: 11px monospace; fill: #222; } .title { font: bold 14px sans-serif; }</style>',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text class="title" x="${margin}" y="22">${escaped(title)}</text>`,
    ...boxes,
    '</svg>',
    '',
  ].join('\n');
};
