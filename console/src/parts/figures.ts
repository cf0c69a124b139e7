/** Figures and times in one form everywhere. Locale: English, as all texts of the console. */
const locale = 'en';
const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 });
const compact = new Intl.NumberFormat(locale, { notation: 'compact', maximumSignificantDigits: 4 });
const scientific = new Intl.NumberFormat(locale, { notation: 'scientific', maximumSignificantDigits: 4 });
const exact = new Intl.NumberFormat(locale, { maximumSignificantDigits: 17 });
const exactPower = new Intl.NumberFormat(locale, { notation: 'scientific', maximumSignificantDigits: 17 });
const percents = Array.from(
  { length: 20 },
  (_, maximumFractionDigits) => new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits }),
);

/** `1,234,567`, rounded. */
export const wholeText = (value: number): string => whole.format(value);

/** `1 item`, `1,600 items`. */
export const counted = (count: number, noun: string): string =>
  `${wholeText(count)} ${noun}${count === 1 ? '' : 's'}`;

/** `1,234,567`; with fractions, three digits that count. */
export const numberText = (value: number): string =>
  Number.isInteger(value) || Math.abs(value) >= 1000 ? whole.format(value) : short.format(value);

/** All digits of a stored value, as a sender wrote it: `1,234.5678`, `1E308`. */
export const exactText = (value: number): string => {
  const size = Math.abs(value);
  return (size >= 1e18 || (size > 0 && size < 1e-6) ? exactPower : exact).format(value);
};

/** A number in the room beside an axis: `20B`, `5E-9`. */
export const axisText = (value: number): string => {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-3)) return scientific.format(value);
  return size < 1e6 ? numberText(value) : compact.format(value);
};

/** `66.7%`; near 0 and 100 % as many digits as tell it from them. */
export const percentText = (share: number): string => {
  const rest = Math.min(share, 1 - share);
  const digits = rest > 0 && rest < 0.01 ? Math.min(19, -1 - Math.floor(Math.log10(rest))) : 1;
  return (percents[digits] ?? short).format(share);
};

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** `1.5 MiB`. */
export const bytesText = (bytes: number): string => {
  const power = bytes < 1 ? 0 : Math.min(byteUnits.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${short.format(bytes / 1024 ** power)} ${byteUnits[power]}`;
};

const durationUnits = Object.entries({ d: 86_400_000, h: 3_600_000, min: 60_000, s: 1000, ms: 1, µs: 1e-3 });

/** `2 h 5 min`, `1.2 s`, `340 ms`: at most two units. */
export const durationText = (ms: number): string => {
  if (ms === 0) return '0 s';
  const at = durationUnits.findIndex(([, size]) => Math.abs(ms) >= size);
  const [unit, size] = durationUnits[at] ?? ['ns', 1e-6];
  const next = durationUnits[at + 1];
  if (next === undefined || size <= 1000) return `${short.format(ms / size)} ${unit}`;
  const rest = Math.floor((Math.abs(ms) % size) / next[1]);
  return `${whole.format(Math.trunc(ms / size))} ${unit}${rest === 0 ? '' : ` ${rest} ${next[0]}`}`;
};

/** `5 min ago`; `in 2 h` for what is to come. */
export const agoText = (atMs: number, nowMs: number): string => {
  const [head = ''] = durationText(Math.abs(nowMs - atMs)).split(/(?<=[a-z]) /);
  return Math.abs(nowMs - atMs) < 1000 ? 'now' : atMs > nowMs ? `in ${head}` : `${head} ago`;
};
