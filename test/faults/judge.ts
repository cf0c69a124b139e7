import { z } from 'zod';
import { errorText } from '../../src/model/fault.ts';
import { signals } from '../../src/model/signals.ts';
import type { Stack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';
import { type Balance, compareBalances, emptyBalance, expectedBalance, laterVerdicts } from './books.ts';
import { isOfApplication } from './items.ts';
import type { Target } from './oracle.ts';
import { readRows } from './rows.ts';
import { type Finding, judgeAnswers, judgeRows, type Owed } from './verdict.ts';

export type Verdict = {
  readonly findings: readonly Finding[];
  readonly rows: number;
  /** Rows of spans, log records and data points that a plain query saw twice when the streams had just become empty: two attempts had overlapped. */
  readonly overlaps: number;
  /** Spans there twice for a plain query because their request came again after the streams had forgotten its id. */
  readonly lateRepeats: number;
  /** Items that are stored, and dropped by the record of a later try (`laterVerdicts`). */
  readonly verdictsReplaced: number;
  /** Items of uncertain requests that are stored, and that are not. */
  readonly uncertainPresent: number;
  readonly uncertainAbsent: number;
};

export type Case = Owed & {
  readonly stack: Stack;
  readonly targets: readonly Target[];
  /** Whether the outcomes are compared with the books. */
  readonly hasOutcomes: boolean;
};

const settleMsMax = 180_000;
const mergeMsMax = 30_000;
const streams = ['METRICS', 'TRACES', 'LOGS', 'OTEL_METRICS', 'LEDGER'] as const;

/** The tables of the layouts whose rows repeat in a plain query until a merge. */
const tables = {
  spans: signals.traces.tables,
  logs: signals.logs.tables,
  data_points: signals.otel_metrics.tables,
} as const;

const streamStates = z.object({
  account_details: z
    .array(
      z.object({
        stream_detail: z
          .array(z.object({ name: z.string(), state: z.object({ messages: z.number() }) }))
          .default([]),
      }),
    )
    .default([]),
});

const messagesIn = async (stack: Stack): Promise<ReadonlyMap<string, number>> => {
  const { account_details: accounts } = streamStates.parse(
    await stack.engines.askNats('JSZ', { streams: true }),
  );
  const details = accounts.flatMap((account) => account.stream_detail);
  return new Map(details.map(({ name, state }) => [name, state.messages]));
};

/** The state of the streams that are not empty, and of their consumers, as NATS reports it; for people. */
const statesOfLeft = async (stack: Stack): Promise<string> => {
  const left = [...(await messagesIn(stack))].filter(([, messages]) => messages > 0).map(([name]) => name);
  const { account_details: accounts } = z
    .object({
      account_details: z.array(z.object({ stream_detail: z.array(z.looseObject({ name: z.string() })) })),
    })
    .parse(await stack.engines.askNats('JSZ', { consumer: true, config: true }));
  const details = accounts.flatMap((account) => account.stream_detail);
  return JSON.stringify(
    details.filter(({ name }) => left.includes(name) && streams.some((stream) => stream === name)),
    null,
    1,
  );
};

/** Waits until nothing is on its way any more, and QuestDB shows what it has taken. */
export const untilSettled = async (stack: Stack): Promise<void> => {
  let emptySince = 0;
  await waitFor('the streams are empty', settleMsMax, async () => {
    const messages = await messagesIn(stack);
    const left = streams.filter((name) => (messages.get(name) ?? 1) > 0);
    if (left.length > 0) emptySince = 0;
    else if (emptySince === 0) emptySince = Date.now();
    if (left.length > 0) throw new Error(left.map((name) => `${name} ${messages.get(name)}`).join(', '));
    return Date.now() - emptySince > 500;
  }).catch(async (error: unknown) => {
    const states = await statesOfLeft(stack).catch((failure: unknown) => errorText(failure));
    throw new Error(`${errorText(error)}\nNATS says:\n${states}`);
  });
  await waitFor('QuestDB has applied its log', settleMsMax, async () => {
    const { dataset } = await stack.query('SELECT name FROM wal_tables() WHERE sequencerTxn != writerTxn');
    return dataset.length === 0;
  });
};

const outcomesRow = z.object({
  received: z.coerce.number(),
  outcomes: z.record(z.string(), z.coerce.number()),
});

const outcomesOf = async (stack: Stack, { layout, id }: Target): Promise<Balance> => {
  const column = isOfApplication(layout) ? 'app_id' : 'data_id';
  const rows = await stack.spansQuery(
    `SELECT sum(received) AS received, sumMap(outcomes) AS outcomes FROM otel.ingest_outcomes FINAL WHERE ${column} = ${id}`,
  );
  const { received, outcomes } = outcomesRow.parse(rows[0]);
  const balance = emptyBalance();
  balance.received = received;
  for (const [outcome, items] of Object.entries(outcomes)) {
    if (outcome === 'stored') balance.stored = items;
    else if (outcome === 'dead_lettered') balance.deadLettered = items;
    else if (items !== 0) balance.dropped.set(outcome.replace(/^dropped\//, ''), items);
  }
  return balance;
};

const numberRow = z.object({ number: z.coerce.number() });

const countOf = async (stack: Stack, sql: string): Promise<number> =>
  numberRow.parse((await stack.spansQuery(sql))[0]).number;

const repeatsSql = (table: string, id: number, final: '' | 'FINAL'): string =>
  `SELECT count() - uniqExact(uid) AS number FROM otel.${table} ${final} WHERE AppId = ${id}`;

const repeatsOf = async (stack: Stack, { layout, id }: Target, final: '' | 'FINAL'): Promise<number> => {
  let repeats = 0;
  if (isOfApplication(layout))
    for (const table of tables[layout]) repeats += await countOf(stack, repeatsSql(table, id, final));
  return repeats;
};

/** Records of the target that more than one message has settled. */
const settledTwice = (stack: Stack, { layout, id }: Target): Promise<number> =>
  countOf(
    stack,
    `SELECT count() AS number FROM (SELECT record_high, record FROM otel.ingest_settled WHERE ${isOfApplication(layout) ? 'app_id' : 'data_id'} = ${id} AND redrive = 0 GROUP BY record_high, record HAVING uniqExact(life, serial, sequence) > 1)`,
  );

const judgeBeside = async (stack: Stack, target: Target): Promise<Finding[]> => {
  const findings: Finding[] = [];
  if (!isOfApplication(target.layout)) return findings;
  const repeats = await repeatsOf(stack, target, 'FINAL');
  if (repeats > 0) {
    findings.push({ offence: 'twice', target: target.name, detail: `${repeats} rows with FINAL` });
  }
  if (target.layout !== 'spans') return findings;
  const lost = await countOf(
    stack,
    `SELECT count() AS number FROM (SELECT DISTINCT TraceId FROM otel.otel_traces WHERE AppId = ${target.id}) WHERE TraceId NOT IN (SELECT TraceId FROM otel.otel_traces_trace_id_ts)`,
  );
  if (lost > 0) findings.push({ offence: 'unfindable', target: target.name, detail: `${lost} traces` });
  return findings;
};

/** Rows there twice just now; those of overlaps are merged by transfer, which is given a while. */
const overlapsOf = async (stack: Stack, targets: readonly Target[]): Promise<number> => {
  const count = async (): Promise<number> => {
    let repeats = 0;
    for (const target of targets) repeats += await repeatsOf(stack, target, '');
    return repeats;
  };
  const first = await count();
  if (first > 0) {
    await waitFor('overlaps are merged', mergeMsMax, async () => (await count()) === 0).catch(
      () => undefined,
    );
  }
  return first;
};

/** Checks a case whose streams are empty: rows, answers, dead letters and outcomes. */
export const judge = async (given: Case): Promise<Verdict> => {
  const { stack, targets, claims, world } = given;
  const overlaps = await overlapsOf(stack, targets);
  const findings = judgeAnswers(claims);
  let rows = 0;
  let lateRepeats = 0;
  let verdictsReplaced = 0;
  let uncertainPresent = 0;
  let uncertainAbsent = 0;
  for (const target of targets) {
    const seen = await readRows(stack, target, claims, world);
    rows += seen.length;
    const presence = judgeRows(seen, target, given);
    lateRepeats += presence.lateRepeats;
    findings.push(...presence.findings);
    findings.push(...(await judgeBeside(stack, target)));
    const isPresent = (id: number): boolean => presence.bits.has(id);
    for (const claim of claims) {
      if (claim.target !== target || claim.debt !== 'uncertain') continue;
      if (isPresent(claim.first)) uncertainPresent += claim.count;
      else uncertainAbsent += claim.count;
    }
    if (!given.hasOutcomes) continue;
    const expected = expectedBalance(claims, target, world, isPresent);
    const told = await outcomesOf(stack, target);
    const later = target.hasSwing ? laterVerdicts(expected, told) : 0;
    if (later > 0 && (await settledTwice(stack, target)) > 0) {
      verdictsReplaced += later;
      continue;
    }
    for (const detail of compareBalances(expected, told)) {
      findings.push({ offence: 'balance', target: target.name, detail });
    }
  }
  const deadLetters = (await messagesIn(stack)).get('DEADLETTER') ?? 0;
  if (deadLetters > 0)
    findings.push({ offence: 'dead_letter', target: 'all', detail: `${deadLetters} messages` });
  return { findings, rows, overlaps, lateRepeats, verdictsReplaced, uncertainPresent, uncertainAbsent };
};
