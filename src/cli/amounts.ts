import { counted } from '../model/counted.ts';

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Bytes for people: `512 B`, `1.5 GiB`. */
export const bytesText = (bytes: number): string => {
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return power === 0 ? `${bytes} B` : `${(bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
};

/** How long rows are kept. */
export const daysText = (days: number | null): string => (days === null ? 'for ever' : counted(days, 'day'));
