import { dayMs } from '../model/time.ts';
import { isCount } from './frame.ts';
import { isDecimal } from './message-key.ts';

/** Rows of one event day (days since 1970, UTC), and the sum of their uids modulo 2^64 as decimal text. */
export type DayRows = readonly [day: number, rows: number, sum: string];

/** Rows of one owner by event day (days since 1970), with the sums of their uids modulo 2^64, decimal. */
export type OwnerDays = {
  readonly days: readonly number[];
  readonly rows: readonly number[];
  readonly sums: readonly string[];
};

/** Event days that a part names: one with more names none, so that no header and no record grows with them. */
export const partDaysMax = 512;
/** The last event day that a record holds: in the year 2149. */
export const dayLast = 65_535;

/** What the days of a part follow from: the description of a part of either signal. */
export type DescribedRows = {
  readonly rows: number;
  readonly base: string;
  readonly first: number;
  readonly last: number;
  readonly days?: readonly DayRows[];
} & ({ readonly day: number } | { readonly timeMin: number; readonly timeMax: number });

const isDay = (value: unknown): boolean => {
  if (!Array.isArray(value) || value.length !== 3) return false;
  const [day, rows, sum]: unknown[] = value;
  return isCount(day) && day <= dayLast && isCount(rows) && isDecimal(sum);
};

/** Whether an optional member `days` has its form. */
export const isDays = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.length <= partDaysMax && value.every(isDay));

/** The number modulo 2^64: the arithmetic of all sums of uids. */
export const sumText = (sum: bigint): string => BigInt.asUintN(64, sum).toString();

/** The sum of the uids base + first … base + last, one each. */
const runSum = ({ base, first, last }: DescribedRows): string => {
  const rows = BigInt(last - first + 1);
  return sumText(BigInt(base) * rows + (BigInt(first + last) * rows) / 2n);
};

const dayOfTimes = (part: DescribedRows): number | undefined => {
  if ('day' in part) return part.day;
  const day = Math.floor(part.timeMin / dayMs);
  return day === Math.floor(part.timeMax / dayMs) ? day : undefined;
};

/** The day of rows with consecutive uids; undefined where uids are missing between them, or days differ. */
const consecutive = (part: DescribedRows): DayRows[] | undefined => {
  const day = dayOfTimes(part);
  if (day === undefined || day > dayLast || part.rows !== part.last - part.first + 1) return undefined;
  return [[day, part.rows, runSum(part)]];
};

/**
 * The rows of a part by event day. Undefined where the part does not tell: an earlier program wrote it, or its rows have too many
 * days. A part of points says `days: []` where its rows come from one request, because those of earlier programs do not say it.
 */
export const partDays = (part: DescribedRows): readonly DayRows[] | undefined => {
  const { rows, days, first, last } = part;
  if (rows === 0) return [];
  // A single row that another program cut out of a part may still carry the days of the whole.
  if (rows === 1 && first === last) return consecutive(part);
  if (days === undefined) return 'day' in part ? consecutive(part) : undefined;
  if (days.length === 0) return consecutive(part);
  return days.reduce((sum, day) => sum + day[1], 0) === rows ? days : undefined;
};

/** Whether `partDays` finds these days, the only ones of rows of one request, without `days`. */
export const followsFromRun = (
  first: number,
  last: number,
  days: readonly { readonly rows: number }[],
): boolean => days.length === 1 && days[0]?.rows === last - first + 1;

/** `days` of a part for its rows by day, each with the sum of its uids; undefined where a record cannot hold them. */
export const toldDays = (
  days: readonly (readonly [day: number, rows: number, sum: bigint])[],
): DayRows[] | undefined => {
  if (days.length > partDaysMax || days.some(([day]) => day > dayLast)) return undefined;
  return days.map(([day, rows, sum]) => [day, rows, sumText(sum)]);
};

/** Sums of uids as sums of (uid - base) modulo 2^64: so a settled line has them, with the base of its key. */
export const relativeSums = ({ rows, sums }: OwnerDays, base: string): string[] =>
  sums.map((sum, index) => sumText(BigInt(sum) - BigInt(base) * BigInt(rows[index] ?? 0)));
