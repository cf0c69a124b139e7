import { sendRaw } from '../otlp/client.ts';
import { createPushClient, type PushAnswer, type PushClient } from '../push/client.ts';
import { withDeadline } from '../stack/receiver-deadline.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { untilApplied } from '../until-applied.ts';
import type { Encoding, ExampleCase, Exchange, Outcome, Receiver } from './examples.ts';
import { buildRequest } from './requests.ts';
import { allKnown, type PreparedSource, prepareSource } from './sources.ts';
import { fill, type Lookup } from './values.ts';

/** What came back for a request of a case, and what the names stand for in what is expected of it. */
export type Answered = { readonly exchange: Exchange; readonly answer: PushAnswer; readonly lookup: Lookup };

export type Ran = {
  readonly answers: readonly Answered[];
  readonly sources: Readonly<Record<string, PreparedSource>>;
  readonly lookup: Lookup;
};

/** All cases of all receivers after they were sent and everything of them is stored. */
export type RanExamples = {
  readonly stack: Stack;
  resultOf(example: ExampleCase): Ran;
  /** What a counter of a role has grown by meanwhile, by the value of a label, over the series that have all of these. */
  grown(
    role: 'ingress' | 'transfer',
    name: string,
    labels: Record<string, string>,
    by?: string,
  ): Record<string, number>;
  stop(): Promise<void>;
};

const sent = 12;

/** Runs the tasks, this many at a time. */
const pooled = async (tasks: readonly (() => Promise<void>)[], width: number): Promise<void> => {
  const left = tasks.values();
  const worker = async (): Promise<void> => {
    for (const task of left) await task();
  };
  await Promise.all(Array.from({ length: width }, worker));
};

const msToNanos = (ms: number): string => `${ms}000000`;

/** The names of a case: its sources, and one moment for all of its requests. */
const lookupOf = (
  sources: Readonly<Record<string, PreparedSource>>,
  now: number,
  more: Readonly<Record<string, unknown>> = {},
): Lookup => {
  const moments: Readonly<Record<string, unknown>> = {
    now,
    now_s: Math.floor(now / 1000),
    now_us: now * 1e3,
    now_ns: now * 1e6,
    nanos: msToNanos(now),
    seconds_and_nine_zeros: `${Math.floor(now / 1000)}000000000`,
    whole_second: Math.floor(now / 1000) * 1000,
    absent: undefined,
    ...more,
  };
  return (name, of) => {
    if (name in moments) return moments[name];
    const source = sources[of];
    if (source === undefined) throw new Error(`there is no source called ${of}`);
    switch (name) {
      case 'data_id':
      case 'app_id':
        return source.id;
      case 'token':
        return source.token;
      case 'token_before':
        return source.tokenBefore;
      case 'table':
        return source.table;
      case 'table_prefix':
        return source.table.replace('__default__', '');
      default:
        throw new Error(`nothing is called $${name}`);
    }
  };
};

const rawAnswer = (text: string): PushAnswer => {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  const body = rest.join('\r\n\r\n');
  const bytes = Buffer.from(body, 'latin1');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(': ');
      return [name.toLowerCase(), value.join(': ')];
    }),
  );
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch {
    json = undefined;
  }
  const status = Number(first.split(' ')[1]);
  return {
    status,
    headers,
    text: bytes.toString('utf8'),
    bytes,
    json,
    continued: false,
    localPort: undefined,
  };
};

type Sender = { readonly port: number; readonly client: PushClient };

const exchangeOnce = async (
  { port, client }: Sender,
  receiver: Receiver,
  encoding: Encoding,
  { request }: Exchange,
  lookup: Lookup,
): Promise<PushAnswer> => {
  if (request.raw_head !== undefined) {
    const lines = request.raw_head.map((line) => String(fill(line, lookup)));
    return rawAnswer(await sendRaw(port, `${lines.join('\r\n')}\r\n\r\n`));
  }
  return client.send(buildRequest(receiver, request, encoding, lookup));
};

const runCase = async (
  example: ExampleCase,
  sender: Sender,
  sources: Readonly<Record<string, PreparedSource>>,
): Promise<Ran> => {
  const now = Date.now();
  const before = lookupOf(sources, now);
  const one = async (exchange: Exchange): Promise<Answered> => {
    const started = Date.now();
    const answer = await exchangeOnce(sender, example.receiver, example.encoding, exchange, before);
    return { exchange, answer, lookup: lookupOf(sources, now, { sent: started, answered: Date.now() }) };
  };
  const all = example.exchanges.flatMap((exchange) =>
    Array.from({ length: exchange.times ?? 1 }, () => exchange),
  );
  const answers: Answered[] = [];
  if (example.isAtOnce) answers.push(...(await Promise.all(all.map(one))));
  else for (const exchange of all) answers.push(await one(exchange));
  return { answers, sources, lookup: lookupOf(sources, now, { sent: now, answered: Date.now() }) };
};

/** Requests refused whole leave nothing behind, so that cases of nothing else share a source whose table has to stay empty. */
const canShare = ({ sources, stored, exchanges, isAlone }: ExampleCase): boolean =>
  !isAlone &&
  Object.values(sources).every((source) => typeof source === 'string') &&
  Object.values(stored).every((rows) => rows === 'none') &&
  exchanges.every(({ response }) => Number(response.status) >= 400);

const prepareAll = async (
  stack: Stack,
  cases: readonly ExampleCase[],
): Promise<Map<ExampleCase, Record<string, PreparedSource>>> => {
  const shared = new Map<string, Promise<PreparedSource>>();
  const prepared = new Map<ExampleCase, Record<string, PreparedSource>>();
  const prepareOne = async (example: ExampleCase): Promise<void> => {
    const own: Record<string, PreparedSource> = {};
    for (const [name, form] of Object.entries(example.sources)) {
      const key = `${example.receiver} ${name} ${String(form)}`;
      const made =
        (canShare(example) ? shared.get(key) : undefined) ?? prepareSource(stack, example.receiver, form);
      if (canShare(example)) shared.set(key, made);
      own[name] = await made;
    }
    prepared.set(example, own);
  };
  await pooled(
    cases.map((example) => () => prepareOne(example)),
    sent,
  );
  await allKnown(stack);
  return prepared;
};

/** Series of a role's metrics: name and labels as written, and their value. */
const seriesOf = async (stack: Stack, role: 'ingress' | 'transfer'): Promise<Map<string, number>> => {
  const series = new Map<string, number>();
  for (const process of stack[role]) {
    for (const line of (await process.metrics()).split('\n')) {
      const at = line.lastIndexOf(' ');
      if (line.startsWith('#') || at < 0) continue;
      series.set(line.slice(0, at), (series.get(line.slice(0, at)) ?? 0) + Number(line.slice(at)));
    }
  }
  return series;
};

const label = (series: string, name: string): string | undefined =>
  new RegExp(`[{,]${name}="([^"]*)"`).exec(series)?.[1];

/** Waits until nothing of the cases is on its way any more, in any stream or in QuestDB's log. */
const settled = async (stack: Stack): Promise<void> => {
  // Hundreds of tables are made meanwhile.
  await stack.waitForEmptyStream('METRICS', 300_000);
  await stack.waitForEmptyStream('TRACES');
  await stack.waitForEmptyStream('LOGS');
  await stack.waitForEmptyStream('OTEL_METRICS');
  await untilApplied(stack);
};

/** Starts the real stack, sends every case and waits until everything is stored. */
export const runExamples = async (cases: readonly ExampleCase[]): Promise<RanExamples> => {
  const stack = await startStack({
    traces: true,
    pipelines: (_file, text) => withDeadline(text),
    env: { TIDEMARK_INGRESS_TRUSTED_PROXIES: '127.0.0.1', TIDEMARK_LOG_LEVEL: 'trace' },
  });
  const senderOf = (name: 'push' | 'otlp'): Sender => {
    const port = stack.ingress[0]?.ports[name] ?? 0;
    return { port, client: createPushClient(port) };
  };
  const senders = {
    push: senderOf('push'),
    traces: senderOf('otlp'),
    logs: senderOf('otlp'),
    metrics: senderOf('otlp'),
  };
  const stop = async (): Promise<void> => {
    for (const { client } of Object.values(senders)) client.close();
    await stack.stop();
  };
  try {
    const prepared = await prepareAll(stack, cases);
    const seriesBefore = {
      ingress: await seriesOf(stack, 'ingress'),
      transfer: await seriesOf(stack, 'transfer'),
    };
    const results = new Map<ExampleCase, Ran | Error>();
    // A case that gets no answer fails alone.
    const run = (example: ExampleCase) => async (): Promise<void> => {
      const running = runCase(example, senders[example.receiver], prepared.get(example) ?? {});
      results.set(example, await running.catch((error: unknown) => new Error('no answer', { cause: error })));
    };
    await pooled(cases.filter(({ isAlone }) => !isAlone).map(run), sent);
    await pooled(cases.filter(({ isAlone }) => isAlone).map(run), 1);
    await settled(stack);
    const seriesAfter = {
      ingress: await seriesOf(stack, 'ingress'),
      transfer: await seriesOf(stack, 'transfer'),
    };
    return {
      stack,
      resultOf: (example) => {
        const result = results.get(example);
        if (result === undefined) throw new Error(`${example.name} was not sent`);
        if (result instanceof Error) throw result;
        return result;
      },
      grown: (role, name, labels, by) => {
        const sums: Record<string, number> = {};
        for (const [series, value] of seriesAfter[role]) {
          if (!series.startsWith(`${name}{`)) continue;
          if (!Object.entries(labels).every(([key, wanted]) => label(series, key) === wanted)) continue;
          const growth = value - (seriesBefore[role].get(series) ?? 0);
          const key = by === undefined ? 'all' : (label(series, by) ?? '');
          if (growth > 0) sums[key] = (sums[key] ?? 0) + growth;
        }
        return sums;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
};

type CountsOf = 'dropped' | 'deferred' | 'values_dropped' | 'leniencies' | 'refused';

/** What the outcomes of these cases sum up to, by reason. */
export const summed = (cases: readonly ExampleCase[], of: CountsOf): Record<string, number> => {
  const sums: Record<string, number> = {};
  for (const { outcome } of cases) {
    for (const [reason, count] of Object.entries(outcome[of] ?? {}))
      sums[reason] = (sums[reason] ?? 0) + Number(count);
  }
  return sums;
};

/** Items that transfer stores of a case. */
export const storedOf = ({ stored, accepted }: Outcome): number => Number(stored ?? accepted ?? 0);
