import type { Command } from 'commander';
import { processesAnswer } from '../metadata/answers/line.ts';
import { errorText, Fault } from '../model/fault.ts';
import { parseJson } from '../model/json.ts';
import { type AdminClient, adminClient } from './client.ts';
import { lineLines, lineSchema, processLines } from './line.ts';
import { addJsonOption, type JsonOption } from './options.ts';
import {
  openTerminal,
  printAnswer,
  printJson,
  printJsonLine,
  printLines,
  printTable,
  sayLines,
  terminalColumns,
} from './output.ts';
import { readAnswer } from './read-answer.ts';

type TopOptions = JsonOption & { once?: true };

const linePath = '/api/v1/line';
const livePath = '/api/v1/live?topics=line';
const againMs = 1_000;
/** How often the line is asked for where no further reader is let in. */
const pollMs = 5_000;
const silenceSeconds = 5;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const askOnce = async (client: AdminClient) => client.ask(lineSchema, 'GET', linePath);

/** Where the line is shown, and what there is to say beside it. */
type Screen = { show(line: unknown): void; say(text: string): void };

/** The data of events of this name, from the lines of an event stream. */
const eventsOf = (name: string, onData: (value: unknown) => void): ((line: string) => void) => {
  let event = '';
  return (line) => {
    if (line.startsWith('event: ')) event = line.slice('event: '.length);
    if (line.startsWith('data: ') && event === name) onData(parseJson(line.slice('data: '.length)));
  };
};

/** Shows the line once, where its stream takes no further reader; a failure that passes is said. */
const showOnce = async (client: AdminClient, screen: Screen): Promise<void> => {
  try {
    const { json } = await askOnce(client);
    screen.show(json);
    screen.say('too many readers: shown every 5 seconds');
  } catch (error) {
    if (error instanceof Fault && error.kind === 'permanent') throw error;
    screen.say(errorText(error));
  }
};

/** Says how long no figures came: the screen has the last ones meanwhile, which look as healthy as they were. */
type Silence = {
  readonly show: Screen['show'];
  /** From now on until `stop` it is said every five seconds. */
  start(): void;
  stop(): void;
};

const noteSilence = (screen: Screen): Silence => {
  let shownAt = performance.now();
  let isNoted = false;
  let timer: ReturnType<typeof setInterval> | undefined;
  return {
    show: (line) => {
      if (isNoted) screen.say('');
      isNoted = false;
      shownAt = performance.now();
      timer?.refresh();
      screen.show(line);
    },
    start: () => {
      timer = setInterval(() => {
        isNoted = true;
        screen.say(`no figures for ${Math.round((performance.now() - shownAt) / 1_000)} s`);
      }, silenceSeconds * 1_000);
    },
    stop: () => clearInterval(timer),
  };
};

/** Shows the line each second, through restarts of metadata; only a refusal, or a failure of the first call, ends it. */
export const follow = async (client: AdminClient, screen: Screen): Promise<never> => {
  let isFirst = true;
  const silence = noteSilence(screen);
  for (;;) {
    let waitMs = againMs;
    silence.start();
    try {
      await client.follow(
        livePath,
        () => {
          isFirst = false;
          screen.say('');
        },
        eventsOf('line', silence.show),
      );
      screen.say('the admin API closed the stream; reconnecting');
    } catch (error) {
      const isFull = error instanceof Fault && error.code === 'too_many_readers';
      if (error instanceof Fault && error.kind === 'permanent') throw error;
      if (isFirst && !isFull) throw error;
      if (isFull) {
        isFirst = false;
        waitMs = pollMs;
        await showOnce(client, { say: screen.say, show: silence.show });
      } else screen.say(errorText(error));
    } finally {
      silence.stop();
    }
    await pause(waitMs);
  }
};

const unreadNote =
  'the line of this metadata cannot be read, the figures are old: use its version of tidemark';

/** The whole terminal, drawn again each second. */
export const fullScreen = (open = openTerminal): Screen & { close(): void } => {
  let lines: readonly string[] = ['waiting for the line …'];
  let note = '';
  const terminal = open(() => ({ lines, note }));
  return {
    show: (value) => {
      const line = readAnswer(lineSchema, value);
      if (!line.success) note = unreadNote;
      else if (note === unreadNote) note = '';
      if (line.success) lines = lineLines(line.data);
      terminal.draw();
    },
    say: (text) => {
      note = text;
      terminal.draw();
    },
    close: terminal.close,
  };
};

const jsonLines: Screen = {
  show: printJsonLine,
  say: (text) => {
    if (text !== '') sayLines(text);
  },
};

const top = async (options: TopOptions): Promise<void> => {
  const client = adminClient();
  // `| head` has read enough.
  process.stdout.on('error', () => process.exit(0));
  if (options.once || (!options.json && !process.stdout.isTTY)) {
    const { value, json } = await askOnce(client);
    if (options.json) printJson(json);
    else printLines(lineLines(value).join('\n'));
    return;
  }
  if (options.json) return follow(client, jsonLines);
  const screen = fullScreen();
  try {
    await follow(client, screen);
  } finally {
    screen.close();
  }
};

const processes = async (options: JsonOption): Promise<void> => {
  const answered = await adminClient().ask(processesAnswer, 'GET', '/api/v1/processes');
  printAnswer(answered, options, ({ items }) => {
    printLines(processLines(items, true, terminalColumns()).join('\n'));
    for (const kind of ['failing', 'degraded'] as const) {
      const named = items.flatMap(({ role, host, pid, [kind]: checks }) =>
        checks.map(({ check, why }) => [`${role} ${host}:${pid}`, check, why]),
      );
      if (named.length > 0) printTable(['PROCESS', kind.toUpperCase(), 'WHY'], named);
    }
  });
};

/** `tidemark top` and `tidemark processes`. */
export const register = (program: Command): void => {
  addJsonOption(
    program
      .command('top')
      .description(
        "show the line each second: troubles, rates, streams, stores, processes, the hour's account",
      )
      .option('--once', 'print it once; this is the default if the output is not a terminal'),
  ).action(top);
  addJsonOption(
    program.command('processes').description('list the processes that sent a pulse in the last two minutes'),
  ).action(processes);
};
