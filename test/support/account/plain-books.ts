import type { Books } from '../../../src/account/books.ts';
import type { Published } from '../../../src/account/compare.ts';
import type { BookRows, PublishedRow, SettledRow } from './book-history.ts';

const textOf = (...parts: readonly number[]): string => parts.join(' ');

const groupsOf = <T>(rows: readonly T[], keyOf: (row: T) => string): T[][] => [
  ...Map.groupBy(rows, keyOf).values(),
];

const total = (counts: readonly number[]): number => counts.reduce((sum, each) => sum + each, 0);

/** How the publishers' book has the items of one owner in one message. */
export type Standing = 'counted' | 'beyond' | 'doubtful';

type Place = { readonly life: number; readonly minute: number };

/** The rule of counting: a line holds the serials up to its `closed`, and that of the last line with owner 0 holds for the whole life. */
export const standingIn = ({ published, doubtful }: Pick<BookRows, 'published' | 'doubtful'>) => {
  const closed = new Map<string, number>();
  const raise = (key: string, to: number): void => {
    closed.set(key, Math.max(to, closed.get(key) ?? 0));
  };
  for (const line of published) {
    if (line.owner === 0) raise(textOf(line.life), line.closed);
    raise(textOf(line.life, line.minute, line.owner), line.closed);
  }
  const open = new Set(doubtful.map(({ life, serial }) => textOf(life, serial)));
  const reachOf = ({ life, minute }: Place, owner: number): number =>
    Math.max(closed.get(textOf(life)) ?? 0, closed.get(textOf(life, minute, owner)) ?? 0);
  const isDoubtful = ({ life, serial }: { readonly life: number; readonly serial: number }): boolean =>
    open.has(textOf(life, serial));
  const of = (place: Place & { readonly serial: number }, owner: number): Standing => {
    if (isDoubtful(place)) return 'doubtful';
    return place.life > 0 && place.serial <= reachOf(place, owner) ? 'counted' : 'beyond';
  };
  return { of, reachOf, isDoubtful };
};

export const newestLines = (published: readonly PublishedRow[]): PublishedRow[] =>
  groupsOf(published, ({ life, minute, owner }) => textOf(life, minute, owner)).map((versions) =>
    versions.reduce((newest, each) => (each.version > newest.version ? each : newest)),
  );

/** One row for each owner of each settled message. */
export const distinctLines = (settled: readonly SettledRow[]): SettledRow[] =>
  groupsOf(
    settled.filter(({ redrive }) => redrive === 0),
    ({ life, minute, serial, sequence, owner }) =>
      textOf(life, minute, serial, life === 0 ? sequence : 0, owner),
  ).flatMap(([first]) => (first === undefined ? [] : [first]));

/** What `readBooks` gives for these minutes, by loops over all rows. */
export const plainBooks = (rows: BookRows, minutes: ReadonlySet<number>): Books => {
  const { of: standing, reachOf } = standingIn(rows);
  const lines = distinctLines(rows.settled)
    .filter(({ life, minute }) => life > 0 && minutes.has(minute))
    .map((line) => ({ ...line, standing: standing(line, line.owner) }));
  const published = newestLines(rows.published).filter(({ minute }) => minutes.has(minute));
  return {
    published: published.map(
      ({ owner, closed: _closed, ended: _ended, version: _version, ...line }): Published => ({
        ...line,
        dataId: owner,
        appId: 0,
        reach: reachOf(line, owner),
      }),
    ),
    settled: groupsOf(lines, ({ life, minute, owner }) => textOf(life, minute, owner)).flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const itemsOf = (wanted: Standing): number =>
        total(group.map((each) => (each.standing === wanted ? each.items : 0)));
      return [
        {
          ...{ life: first.life, minute: first.minute, dataId: first.owner, appId: 0 },
          ...{ counted: itemsOf('counted'), beyond: itemsOf('beyond'), doubtful: itemsOf('doubtful') },
          countedMessages: group.filter((each) => each.standing === 'counted').length,
        },
      ];
    }),
    messages: groupsOf(lines, ({ life, minute }) => textOf(life, minute)).flatMap((place) => {
      const [first] = place;
      if (first === undefined) return [];
      const messages = groupsOf(place, ({ serial }) => String(serial));
      const counted = messages.filter((each) => each.some((line) => line.standing === 'counted'));
      const isDoubtful = (each: typeof place): boolean => each.some((line) => line.standing === 'doubtful');
      return [
        {
          ...{ life: first.life, minute: first.minute, counted: counted.length },
          beyond: messages.filter((each) => !counted.includes(each) && !isDoubtful(each)).length,
          short: counted.filter((each) => each.length < Math.max(...each.map(({ owners }) => owners))).length,
        },
      ];
    }),
  };
};
