import { z } from 'zod';
import type { Stack } from '../support/stack.ts';
import { waitFor } from '../support/wait.ts';
import { type Balance, compareBalances, emptyBalance, expectedBalance } from './books.ts';
import { fateOf, type World } from './items.ts';
import { type Claim, claimOf, type Target } from './oracle.ts';
import { bitsOf, readRows, type SeenRow } from './rows.ts';

/**
 * What may not be. `missing`: owed and not there. `twice`: there more than once (spans: also as FINAL sees it). `unmerged`: a span
 * there twice for a plain query alone, still after the streams were empty for a while. `changed`: a value differs.
 * `unexpected`: nobody may have stored it. `torn`: a part of a request that is there whole or not at all. `unfindable`: a
 * trace that its id does not find. `balance`: the outcomes differ from the books. `stuck`: never answered 2xx though sent to
 * the end. `answer`: a status that no fault explains. `dead_letter`: something was set aside though nothing was poison.
 */
export const offences = [
  'missing',
  'twice',
  'unmerged',
  'changed',
  'unexpected',
  'torn',
  'unfindable',
  'balance',
  'stuck',
  'answer',
  'dead_letter',
] as const;
export type Offence = (typeof offences)[number];

/** One violation, with the number of the item and its request where there is one. */
export type Finding = {
  readonly offence: Offence;
  readonly target: string;
  readonly detail: string;
  readonly id?: number;
  readonly claim?: Claim | undefined;
};

export type Verdict = {
  readonly findings: readonly Finding[];
  readonly rows: number;
  /** Rows of spans that a plain query saw twice when the streams had just become empty: two attempts had overlapped. */
  readonly overlaps: number;
  /** Spans there twice for a plain query because their request came again after the streams had forgotten its id. */
  readonly lateRepeats: number;
  /** Items of uncertain requests that are there, and that are not. */
  readonly uncertainPresent: number;
  readonly uncertainAbsent: number;
};

export type Case = {
  readonly stack: Stack;
  readonly world: World;
  readonly targets: readonly Target[];
  /** In the order of their numbers. */
  readonly claims: readonly Claim[];
  /** How long the streams know an id again. */
  readonly duplicateWindowSeconds: number;
  /** Whether the outcomes are held against the books. */
  readonly hasOutcomes: boolean;
};

const settleMsMax = 180_000;
const mergeMsMax = 30_000;
const streams = ['METRICS', 'TRACES', 'LEDGER'] as const;

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
  const response = await fetch(`${stack.engines.natsMonitorUrl}/jsz?streams=true`);
  const { account_details: accounts } = streamStates.parse(await response.json());
  const details = accounts.flatMap((account) => account.stream_detail);
  return new Map(details.map(({ name, state }) => [name, state.messages]));
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
  });
  await waitFor('QuestDB has applied its log', settleMsMax, async () => {
    const { dataset } = await stack.query('SELECT name FROM wal_tables() WHERE sequencerTxn != writerTxn');
    return dataset.length === 0;
  });
};

type Presence = { readonly bits: Map<number, number>; readonly findings: Finding[]; lateRepeats: number };

/** Some of the request was published again when its first message may have been forgotten: FINAL alone sees it once. */
const isLate = ({ tries }: Claim, windowSeconds: number): boolean =>
  (tries.at(-1)?.answeredAt ?? 0) - (tries[0]?.sentAt ?? 0) > windowSeconds * 1000;

/** Who is there, and what is wrong with single rows. */
const lookAtRows = (
  rows: readonly SeenRow[],
  target: Target,
  { claims, duplicateWindowSeconds }: Case,
): Presence => {
  const bits = new Map<number, number>();
  const findings: Finding[] = [];
  let lateRepeats = 0;
  for (const { id, bit, isUnchanged, text } of rows) {
    const claim = claimOf(claims, id);
    const find = (offence: Offence): void => {
      findings.push({ offence, target: target.name, id, claim, detail: text });
    };
    const seen = bits.get(id) ?? 0;
    if (claim === undefined || claim.target !== target) find('unexpected');
    else if ((seen & bit) !== 0 && target.layout !== 'spans') find('twice');
    else if ((seen & bit) !== 0 && isLate(claim, duplicateWindowSeconds)) lateRepeats++;
    else if ((seen & bit) !== 0) find('unmerged');
    else if (!isUnchanged) find('changed');
    bits.set(id, seen | bit);
  }
  return { bits, findings, lateRepeats };
};

/** Holds who is there against what is owed, item by item. */
const holdAgainstDebts = (
  { bits, findings }: Presence,
  { claims, world }: Pick<Case, 'claims' | 'world'>,
  target: Target,
): void => {
  for (const claim of claims) {
    if (claim.target !== target) continue;
    const { first, count, debt } = claim;
    const isWhole = debt === 'owed' || (debt !== 'absent' && bits.has(first));
    for (let id = first; id < first + count; id++) {
      const fate = fateOf(id, target.layout, id === first, target.hasSwing, world.seed);
      const there = bits.get(id) ?? 0;
      const whole = bitsOf(id, target, world);
      const find = (offence: Offence): void => {
        findings.push({ offence, target: target.name, id, claim, detail: `${fate}, ${debt}` });
      };
      if (fate === 'good' && isWhole && there !== whole) find(debt === 'owed' ? 'missing' : 'torn');
      if (fate === 'good' && !isWhole && there !== 0) find(debt === 'absent' ? 'unexpected' : 'torn');
      if (fate === 'swing' && there !== 0 && (there !== whole || !isWhole)) find('torn');
      if (fate !== 'good' && fate !== 'swing' && there !== 0) find('unexpected');
    }
  }
};

const outcomesRow = z.object({
  received: z.coerce.number(),
  outcomes: z.record(z.string(), z.coerce.number()),
});

const outcomesOf = async (stack: Stack, { layout, id }: Target): Promise<Balance> => {
  const column = layout === 'spans' ? 'app_id' : 'data_id';
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

const repeatsSql = (target: Target, final: '' | 'FINAL'): string =>
  `SELECT count() - uniqExact(uid) AS number FROM otel.otel_traces ${final} WHERE AppId = ${target.id}`;

const judgeSpansBeside = async (stack: Stack, target: Target): Promise<Finding[]> => {
  const findings: Finding[] = [];
  const repeats = await countOf(stack, repeatsSql(target, 'FINAL'));
  if (repeats > 0) {
    findings.push({ offence: 'twice', target: target.name, detail: `${repeats} rows with FINAL` });
  }
  const lost = await countOf(
    stack,
    `SELECT count() AS number FROM (SELECT DISTINCT TraceId FROM otel.otel_traces WHERE AppId = ${target.id}) WHERE TraceId NOT IN (SELECT TraceId FROM otel.otel_traces_trace_id_ts)`,
  );
  if (lost > 0) findings.push({ offence: 'unfindable', target: target.name, detail: `${lost} traces` });
  return findings;
};

/** Rows there twice just now; those of overlaps are merged by transfer, which is given a while. */
const overlapsOf = async (stack: Stack, targets: readonly Target[]): Promise<number> => {
  const spans = targets.filter(({ layout }) => layout === 'spans');
  const count = async (): Promise<number> => {
    let repeats = 0;
    for (const target of spans) repeats += await countOf(stack, repeatsSql(target, ''));
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

const judgeAnswers = (claims: readonly Claim[]): Finding[] => {
  const findings: Finding[] = [];
  for (const claim of claims) {
    const target = claim.target.name;
    if (claim.debt === 'open') findings.push({ offence: 'stuck', target, claim, detail: 'still open' });
    for (const { status } of claim.tries) {
      if (![0, 200, 503].includes(status))
        findings.push({ offence: 'answer', target, claim, detail: `${status}` });
    }
  }
  return findings;
};

/** Judges a case whose streams are empty: rows, answers, dead letters and outcomes. */
export const judge = async (given: Case): Promise<Verdict> => {
  const { stack, targets, claims, world } = given;
  const overlaps = await overlapsOf(stack, targets);
  const findings = judgeAnswers(claims);
  let rows = 0;
  let lateRepeats = 0;
  let uncertainPresent = 0;
  let uncertainAbsent = 0;
  for (const target of targets) {
    const seen = await readRows(stack, target, claims, world);
    rows += seen.length;
    const presence = lookAtRows(seen, target, given);
    lateRepeats += presence.lateRepeats;
    holdAgainstDebts(presence, given, target);
    findings.push(...presence.findings);
    if (target.layout === 'spans') findings.push(...(await judgeSpansBeside(stack, target)));
    const isPresent = (id: number): boolean => presence.bits.has(id);
    for (const claim of claims) {
      if (claim.target !== target || claim.debt !== 'uncertain') continue;
      if (isPresent(claim.first)) uncertainPresent += claim.count;
      else uncertainAbsent += claim.count;
    }
    if (!given.hasOutcomes) continue;
    const expected = expectedBalance(claims, target, world, isPresent);
    const told = await outcomesOf(stack, target);
    for (const detail of compareBalances(expected, told)) {
      findings.push({ offence: 'balance', target: target.name, detail });
    }
  }
  const deadLetters = (await messagesIn(stack)).get('DEADLETTER') ?? 0;
  if (deadLetters > 0)
    findings.push({ offence: 'dead_letter', target: 'all', detail: `${deadLetters} messages` });
  return { findings, rows, overlaps, lateRepeats, uncertainPresent, uncertainAbsent };
};
