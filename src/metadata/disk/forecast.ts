/** Bytes that are stored of one day, as days since 1970. */
export type DayBytes = { readonly day: number; readonly bytes: number };

/** Rows that are kept alike. */
export type Growing = {
  /** Undefined: for ever. */
  readonly retentionDays: number | undefined;
  readonly days: readonly DayBytes[];
};

/** The end of the forecast. */
export const daysLeftMax = 3_650;

/** Bytes that a day adds: those of the last whole day. Rows that began today count as far as today has come. */
export const bytesPerDay = ({ days }: Growing, today: number): number => {
  const isNew = !days.some(({ day }) => day < today);
  return days.find(({ day }) => day === (isNew ? today : today - 1))?.bytes ?? 0;
};

/** Adds to an entry that the forecast reaches. */
const add = (to: Float64Array, at: number, bytes: number): void => {
  if (at <= daysLeftMax) to[at] = (to[at] ?? 0) + bytes;
};

/**
 * Days until `freeBytes` are full, at most `daysLeftMax`: each day adds what the last one did, and then takes away the day that the
 * retention ends. Rows that have expired already are taken away first.
 */
export const daysUntilFull = (freeBytes: number, growing: readonly Growing[], today: number): number => {
  // By the day from now: what goes of the rows that are stored, and from when on a day of later rows goes with each day.
  const stored = new Float64Array(daysLeftMax + 1);
  const later = new Float64Array(daysLeftMax + 1);
  let rate = 0;
  for (const each of growing) {
    const perDay = bytesPerDay(each, today);
    rate += perDay;
    if (each.retentionDays === undefined) continue;
    const kept = Math.ceil(each.retentionDays) + 1;
    for (const { day, bytes } of each.days)
      add(stored, Math.max(0, day - today + kept), day === today ? Math.max(0, bytes - perDay) : bytes);
    add(later, kept, perDay);
  }
  let [free, laterRate] = [freeBytes + (stored[0] ?? 0), 0];
  if (free <= 0) return 0;
  for (let day = 1; day <= daysLeftMax; day++) {
    if (rate > 0 && rate >= free) return day - 1 + free / rate;
    laterRate += later[day] ?? 0;
    free += (stored[day] ?? 0) + laterRate - rate;
  }
  return daysLeftMax;
};
