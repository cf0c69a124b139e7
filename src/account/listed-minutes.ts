/** The minutes that a query names, in its parameter `minutes` (Unix seconds); not empty. */
const minutes = "{minutes:Array(DateTime('UTC'))}";

/** The rows of these minutes. */
export const inMinutes = `minute IN ${minutes}`;

/**
 * The rows that ClickHouse may have stamped (`at`) at this time or later; a day leaves room for clocks. A DateTime of before 1970 is one of
 * 2106.
 */
export const stampedSince = (time: string): string =>
  `at >= greatest(least(now(), ${time}), toDateTime(86400)) - INTERVAL 1 DAY`;

export const sinceMinutes = stampedSince(`arrayMin(${minutes})`);

/** Names a minute (Unix seconds) of a stream. */
export const minuteKey = (stream: string, minute: number): string => `${stream} ${minute}`;

/** The minute that such a name has. */
export const minuteOfKey = (key: string): number => Number(key.slice(key.lastIndexOf(' ') + 1));

/** The lines of a minute are in ClickHouse this long after it, unless something is late. */
export const lineSeconds = 20;
