import { z } from 'zod';
import { hourAccountShape, type LineProcess, lineShape, terms } from '../metadata/answers/line.ts';
import { byPipeline, pipelines, signals } from '../model/signals.ts';
import { visible } from '../model/visible-text.ts';
import { differenceSchema, equationText } from './differences.ts';
import { nothing, tableLines, timeText } from './output.ts';

// What `top` and `processes` read of the answers about the line, and how they show it.

export const lineSchema = lineShape.extend({
  // A newer metadata may have nodes of other kinds.
  nodes: z.array(z.object({ id: z.string(), kind: z.string(), name: z.string() })),
  account: hourAccountShape
    .extend({
      // A metadata process of before a signal was added says nothing of it.
      ...byPipeline(() => terms.optional()),
      differences: z.array(differenceSchema),
    })
    .nullable(),
});

export type Line = z.output<typeof lineSchema>;

const steps = ['', 'k', 'M', 'G', 'T'];

/** Three digits: `0`, `12.3`, `4.56k`. */
export const short = (value: number | null, unit = ''): string => {
  if (value === null) return nothing;
  let step = 0;
  let rest = value;
  while (Math.abs(rest) >= 999.5 && step < steps.length - 1) {
    rest /= 1_000;
    step++;
  }
  const text = Number.isInteger(rest) ? String(rest) : String(Number(rest.toPrecision(3)));
  return `${text}${steps[step] ?? ''}${unit}`;
};

/** `45s`, `12m`, `3h`, `5d`. */
export const span = (seconds: number | null): string => {
  if (seconds === null) return nothing;
  if (seconds < 120) return `${Math.round(seconds)}s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)}h` : `${Math.round(seconds / 86_400)}d`;
};

const percent = (share: number): string => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)}%`;

const nameOf = ({ role, host, pid }: LineProcess): string =>
  `${role} ${host.length > 12 ? `${host.slice(0, 11)}…` : host}:${pid}`;

/** A table of processes: of 80 columns, or with all figures and as wide as `columns`. */
export const processLines = (
  processes: readonly LineProcess[],
  isWide: boolean,
  columns = Number.POSITIVE_INFINITY,
): string[] =>
  tableLines(
    [
      'PROCESS',
      'STATE',
      'ITEMS/S',
      'DROP/S',
      'REFUSE/S',
      'CPU',
      'LOOP',
      ...(isWide ? ['BYTES/S', 'MEMORY', 'VERSION', 'HOST'] : []),
    ],
    processes.map((each) => [
      nameOf(each),
      each.state === 'gone' ? `gone ${span(each.silent_seconds)}` : each.state.replace('_', ' '),
      short(each.items_per_second),
      short(each.dropped_per_second),
      short(each.refused_per_second),
      percent(each.cpu),
      `${Math.round(each.event_loop_p99_ms)}ms`,
      ...(isWide ? [short(each.bytes_per_second), short(each.rss_bytes, 'B'), each.version, each.host] : []),
    ]),
    columns,
  );

const verdicts = {
  true: 'adds up',
  false: 'DOES NOT ADD UP',
  null: 'is not known: the books, or rows in a store, cannot be read now, or lines still wait in LEDGER',
} as const;

const itemsWidth = Math.max(...pipelines.map((pipeline) => signals[pipeline].items.length));

const accountLines = ({ account, account_why: why }: Line): string[] =>
  account === null
    ? [`the last hour: not read yet${why === null ? '' : `: ${why}`}`]
    : [
        `the last hour ${verdicts[`${account.adds_up}`]}${why === null ? '' : ` (not read again: ${why})`}`,
        ...pipelines.flatMap((pipeline) => {
          const terms = account[pipeline];
          return terms === undefined
            ? []
            : [`  ${signals[pipeline].items.padEnd(itemsWidth)}  ${equationText(terms)}`];
        }),
      ];

const troubleLines = ({ troubles, account, account_why: why }: Line): string[] =>
  troubles.length === 0
    ? [
        account?.adds_up === true && why === null
          ? 'no troubles'
          : 'no other troubles; whether the last hour adds up is not known',
      ]
    : troubles.flatMap(({ severity, text, remedy, runbook }) => [
        `${severity === 'page' ? '!!' : '! '} ${text}`,
        `   ${remedy} (${runbook})`,
      ]);

const edgeLines = ({ nodes, edges }: Line): string[] => {
  const nameOf = new Map(
    nodes.map(({ id, kind, name }) => [id, kind === 'transfer' ? `transfer ${name}` : name]),
  );
  return tableLines(
    ['LINE', 'ITEMS/S', 'BYTES/S'],
    edges
      .filter((each) => each.items_per_second !== null || each.bytes_per_second !== null)
      .map(({ from, to, items_per_second: items, bytes_per_second: bytes }) => [
        `${nameOf.get(from) ?? from} → ${nameOf.get(to) ?? to}`,
        short(items),
        short(bytes),
      ]),
  );
};

const streamLines = ({ streams }: Line): string[] =>
  tableLines(
    ['STREAM', 'FULL', 'MESSAGES', 'OLDEST', 'PENDING', 'UNDER WAY', 'AGAIN', 'FULL IN'],
    streams.map((each) =>
      each.state === 'read'
        ? [
            each.stream,
            percent(each.fill),
            short(each.messages),
            span(each.oldest_age_seconds),
            short(each.pending),
            short(each.ack_pending),
            short(each.redelivered),
            span(each.seconds_to_full),
          ]
        : [each.stream, each.state],
    ),
  );

const storeLines = ({ stores }: Line): string[] =>
  tableLines(
    ['STORE', 'STATE'],
    stores.map(({ store, instance, ready, why }) => [
      store === 'questdb' ? `QuestDB ${instance}` : 'ClickHouse',
      ready === null ? 'not known yet' : ready ? 'ready' : (why ?? 'away'),
    ]),
  );

/** The whole line, troubles first. */
export const lineLines = (line: Line): string[] => {
  const { totals } = line;
  return [
    `${timeText(Math.floor(line.at))}  in ${short(totals.accepted_items_per_second)}/s` +
      `  stored ${short(totals.stored_items_per_second)}/s  dropped ${short(totals.dropped_items_per_second)}/s` +
      `  dead ${short(totals.dead_lettered_items_per_second)}/s`,
    ...accountLines(line),
    '',
    ...troubleLines(line),
    '',
    ...edgeLines(line),
    '',
    ...streamLines(line),
    '',
    ...storeLines(line),
    '',
    ...processLines(line.processes, false),
    // What others wrote stays within its line.
  ].map(visible);
};
