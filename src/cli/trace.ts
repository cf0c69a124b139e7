import { type Command, Option } from 'commander';
import { z } from 'zod';
import { logsAnswer, traceAnswer } from '../metadata/answers/explore.ts';
import { Fault } from '../model/fault.ts';
import { adminClient } from './client.ts';
import { addJsonOption, idArgument, type JsonOption, timeoutOption } from './options.ts';
import { printAnswer, printFields, printLine, sayLines, terminalColumns } from './output.ts';
import { printLogs } from './query-logs.ts';
import { nanoTimeText, traceIdArgument } from './query-options.ts';
import { type SendOptions, sendSpan } from './send-span.ts';
import { cutTo, padTo } from './width.ts';

type Trace = z.output<typeof traceAnswer>;
type Span = Trace['spans'][number];

/** A span and its depth below the root of its tree. */
export type PlacedSpan<S> = { readonly span: S; readonly depth: number };

/**
 * Spans with each behind its parent, siblings in their given order. A span without a known parent is a root; so is the first one of
 * a ring.
 */
export const inTree = <S extends Pick<Span, 'span_id' | 'parent_span_id'>>(
  spans: readonly S[],
): PlacedSpan<S>[] => {
  const known = new Set(spans.map(({ span_id: id }) => id));
  const children = new Map<string, S[]>();
  for (const span of spans) {
    const siblings = children.get(span.parent_span_id);
    if (siblings === undefined) children.set(span.parent_span_id, [span]);
    else siblings.push(span);
  }
  const placed: PlacedSpan<S>[] = [];
  const seen = new Set<S>();
  const place = (root: S): void => {
    // Not by recursion: a chain may have as many links as a trace has spans.
    const open: PlacedSpan<S>[] = [{ span: root, depth: 0 }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { span, depth } = next;
      if (seen.has(span)) continue;
      seen.add(span);
      placed.push(next);
      const below = children.get(span.span_id) ?? [];
      for (const child of below.toReversed()) open.push({ span: child, depth: depth + 1 });
    }
  };
  for (const span of spans) if (!known.has(span.parent_span_id)) place(span);
  for (const span of spans) if (!seen.has(span)) place(span);
  return placed;
};

const barMax = 32;
const barMin = 8;

/** Where a span lies in its trace, as a bar of this width: `··███····`. */
export const barOf = (offset: number, duration: number, whole: number, barWidth = barMax): string => {
  const scale = whole > 0 ? barWidth / whole : 0;
  const begin = Math.min(barWidth - 1, Math.max(0, Math.floor(offset * scale)));
  const length = Math.max(1, Math.min(barWidth - begin, Math.round(duration * scale)));
  return `${'·'.repeat(begin)}${'█'.repeat(length)}${'·'.repeat(barWidth - begin - length)}`;
};

const indentMax = 20;
const nameMax = 48;
/** The duration and the id of a span, and what is between the parts of its line. */
const fixedColumns = 35;

/** The width of the bar and of the name, in lines of this many columns. */
export const waterfallWidths = (columns: number): { readonly bar: number; readonly name: number } => {
  const rest = Math.max(0, columns - fixedColumns);
  const bar = Math.min(barMax, Math.max(barMin, Math.floor(rest / 3)));
  return { bar, name: Math.max(barMin, Math.min(nameMax, rest - bar)) };
};

/** The line of a span. Without a terminal `columns` is infinite, and its name is whole. */
export const lineOf = ({ span, depth }: PlacedSpan<Span>, whole: number, columns: number): string => {
  const { bar, name: nameWidth } = waterfallWidths(columns);
  const indent = '  '.repeat(Math.min(depth, indentMax));
  const isError = span.status === 'Error';
  const name = `${indent}${isError ? '! ' : ''}${span.service} ${span.name}`;
  const milliseconds = (span.duration_ns / 1e6).toFixed(2).padStart(11);
  const shown = padTo(Number.isFinite(columns) ? cutTo(name, nameWidth) : name, nameWidth);
  return `${barOf(span.offset_ns, span.duration_ns, whole, bar)} ${milliseconds} ms  ${shown} ${span.span_id}`;
};

const print = (trace: Trace, { attributes }: TraceOptions): void => {
  printFields([
    ['trace', trace.trace_id],
    ['start', nanoTimeText(trace.start_unix_nano)],
    ['duration', `${(trace.duration_ns / 1e6).toFixed(2)} ms`],
    ['spans', trace.spans_total],
  ]);
  const columns = terminalColumns();
  for (const placed of inTree(trace.spans)) {
    printLine(lineOf(placed, trace.duration_ns, columns));
    if (attributes === true)
      for (const { key, value } of placed.span.attributes)
        printLine(`${' '.repeat(waterfallWidths(columns).bar + 17)}${key} = ${value}`);
  }
  if (trace.truncated) sayLines(`the first ${trace.spans.length} of ${trace.spans_total} spans`);
};

type TraceOptions = JsonOption & { attributes?: true; logs?: true };

const wholeSchema = z.record(z.string(), z.unknown());

const second = 1_000_000_000n;
/** Records may come before the first span and after the last one: of other clocks, and of work that goes on. */
const aroundSeconds = 300;

/** The last 200 log records of a trace. */
const askLogsOf = ({ trace_id, start_unix_nano: start, duration_ns: duration }: Trace) =>
  adminClient().ask(logsAnswer, 'POST', '/api/v1/query/logs', {
    body: {
      trace_id,
      since: Math.max(0, Number(BigInt(start) / second) - aroundSeconds),
      until: Number((BigInt(start) + BigInt(Math.ceil(duration))) / second) + 1 + aroundSeconds,
      wide: true,
      limit: 200,
    },
  });

type ShowOrSendOptions = TraceOptions & SendOptions & { send?: number };

/** The options of the sent span alone. */
const ofSending = ['service', 'name', 'url', 'token', 'timeout'];

const run = async (id: string | undefined, options: ShowOrSendOptions, command: Command): Promise<void> => {
  const { send: appId } = options;
  if (appId !== undefined && id === undefined) return sendSpan(appId, options);
  if (appId !== undefined || id === undefined)
    throw new Fault('permanent', 'wrong_words', 'name a trace id, or --send <app_id>: one of the two');
  const idle = ofSending.find((option) => command.getOptionValueSource(option) === 'cli');
  if (idle !== undefined) throw new Fault('permanent', 'wrong_words', `--${idle} needs --send`);
  const answer = await adminClient().ask(traceAnswer, 'GET', `/api/v1/traces/${id}`);
  if (options.logs !== true) return printAnswer(answer, options, (trace) => print(trace, options));
  const logs = await askLogsOf(answer.value);
  const json = { ...wholeSchema.parse(answer.json), logs: wholeSchema.parse(logs.json)['items'] };
  printAnswer({ value: answer.value, json }, options, (trace) => {
    print(trace, options);
    printLine('');
    printLogs(logs.value.items.toReversed(), true);
    if (logs.value.next_cursor !== null) sayLines(`the last ${logs.value.items.length} log records`);
  });
};

/** `tidemark trace`. */
export const registerTrace = (program: Command): void => {
  addJsonOption(
    program
      .command('trace')
      .description(
        'the spans of a trace as a waterfall: when, how long, below which parent; with --send, send one span and follow it to its row',
      )
      .argument('[trace_id]', 'trace', traceIdArgument)
      .option('--attributes', 'print the attributes of each span, too')
      .option('--logs', 'print the log records of the trace, too: at most 200')
      .addOption(
        new Option('--send <app_id>', 'send a span of this application')
          .argParser(idArgument)
          .conflicts(['attributes', 'logs']),
      )
      .option('--service <name>', 'service.name of the sent span', 'tidemark trace')
      .option('--name <name>', 'name of the sent span', 'trial')
      .option('--url <url>', 'the OTLP receiver, default the local one')
      .option('--token <token>', 'default: that of the application, which the audit log records')
      .addOption(timeoutOption('for each station of the sent span')),
  ).action(run);
};
