/** Every row is as high, so that the place of each is known without laying it out. */
export const rowPx = 24;
const beyond = 10;

/** The rows to draw, `first` to before `last`: those in sight, and some beyond. */
export const windowOf = (
  scrollPx: number,
  heightPx: number,
  count: number,
): { readonly first: number; readonly last: number } => ({
  first: Math.max(0, Math.min(count, Math.floor(scrollPx / rowPx)) - beyond),
  last: Math.min(count, Math.ceil((scrollPx + heightPx) / rowPx) + beyond),
});

/** Where to scroll so that a row is in sight: no further than needed. */
export const scrollTo = (place: number, scrollPx: number, heightPx: number): number => {
  const top = place * rowPx;
  if (top < scrollPx) return top;
  return top + rowPx > scrollPx + heightPx ? top + rowPx - heightPx : scrollPx;
};

/** A part of the trace in nanoseconds. */
export type Zoom = { readonly from: number; readonly to: number };

/** `from-to` of the address, inside the trace; without a usable one, all of it. */
export const zoomOf = (text: string, durationNs: number): Zoom => {
  const whole = { from: 0, to: Math.max(1, durationNs) };
  const [, from, to] = /^(\d{1,19})-(\d{1,19})$/.exec(text) ?? [];
  const zoom = { from: Number(from), to: Math.min(whole.to, Number(to)) };
  return zoom.to > zoom.from ? zoom : whole;
};

/** The address of a zoom; empty for the whole trace. */
export const zoomText = ({ from, to }: Zoom, durationNs: number): string => {
  const first = Math.max(0, Math.floor(from));
  const last = Math.min(durationNs, Math.ceil(to));
  return last <= first || (first === 0 && last >= durationNs) ? '' : `${first}-${last}`;
};
