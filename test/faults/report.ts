import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { severalMessages } from './load.ts';
import type { Claim } from './oracle.ts';
import { killsOf, type Round, type Run } from './run.ts';
import { describeFault, isProcessFault, processKinds, weightOf } from './schedule.ts';
import { type Finding, offences } from './verdict.ts';

const shownMax = 20;
/** Faults this long before and after a request are reported with it, ms. */
const nearMs = 10_000;

const sum = <T>(items: readonly T[], value: (item: T) => number): number =>
  items.reduce((total, item) => total + value(item), 0);

const kindOfKill = { kill: 'kill', kill_twice: 'kill', stop: 'stop', pause: 'pause' } as const;

/** `ingress 12 kills, 3 pauses, 2 stops` by kind of process. */
const killLines = (rounds: readonly Round[]): string[] => {
  const done = rounds.flatMap((round) => round.done.map(({ fault }) => fault)).filter(isProcessFault);
  return processKinds.map((processKind) => {
    const mine = done.filter((fault) => fault.processKind === processKind);
    const count = (kind: 'kill' | 'stop' | 'pause'): number =>
      sum(
        mine.filter((fault) => kindOfKill[fault.kind] === kind),
        weightOf,
      );
    return `  ${processKind.padEnd(10)} ${count('kill')} kills, ${count('pause')} pauses, ${count('stop')} stops`;
  });
};

const linkLine = (rounds: readonly Round[]): string => {
  const counts = new Map<string, number>();
  for (const { fault, note } of rounds.flatMap((round) => round.done)) {
    if (isProcessFault(fault)) continue;
    const name =
      fault.kind === 'link'
        ? fault.weather.kind
        : fault.kind === 'fill'
          ? note === 'the receiver had no room'
            ? 'stream filled'
            : 'stream not filled'
          : fault.kind;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => `${name} ${count}`).join(', ');
};

const answerLine = (claims: readonly Claim[]): string => {
  const tries = claims.flatMap((claim) => claim.tries);
  const count = (status: number, reason?: string): number =>
    tries.filter((each) => each.status === status && (reason === undefined || each.reason === reason)).length;
  return `${tries.length} tries: ${count(200)} answered 200, ${count(0)} unanswered, ${count(503)} times 503 (${count(503, 'not_stored')} not_stored, ${count(503, 'unconfirmed')} unconfirmed)`;
};

/** Tokens that were rotated, and what was sent again under another one. */
const tokenLine = (rounds: readonly Round[], claims: readonly Claim[]): string => {
  const rotations = rounds
    .flatMap(({ done }) => done)
    .filter(({ fault, note }) => fault.kind === 'rotate' && note === '');
  const tries = claims.flatMap((claim) => claim.tries.filter(({ isOtherToken }) => isOtherToken === true));
  const count = (status: number): number => tries.filter((each) => each.status === status).length;
  return `tokens rotated: ${rotations.length}; requests sent again under another token: ${tries.length}, ${count(200)} answered 200, ${count(401)} answered 401`;
};

/** Requests that went over gRPC: some of them first or later over HTTP, too. */
const grpcLine = (claims: readonly Claim[]): string => {
  const over = claims.filter(({ tries }) => tries.some(({ isGrpc }) => isGrpc === true));
  const both = over.filter(({ tries }) => tries.some(({ isGrpc }) => isGrpc !== true));
  const calls = over.flatMap(({ tries }) => tries.filter(({ isGrpc }) => isGrpc === true));
  const count = (status: number): number => calls.filter((each) => each.status === status).length;
  return `calls over gRPC: ${calls.length}, ${count(200)} answered OK, ${count(503)} UNAVAILABLE, ${count(0)} unanswered; requests over gRPC and HTTP: ${both.length}`;
};

/** Requests of several messages, and what was sent again although it was stored. */
const wholeLines = (claims: readonly Claim[]): string[] => {
  const large = claims.filter(({ count }) => count >= severalMessages);
  const unnamed = large.filter(({ isNamed }) => !isNamed);
  const of = (debt: Claim['debt']): number => unnamed.filter((claim) => claim.debt === debt).length;
  const repeats = claims.flatMap(({ tries }) => tries.filter(({ isRepeat }) => isRepeat === true));
  const answered = repeats.filter(({ status }) => status === 200);
  return [
    `requests of several messages: ${large.length - unnamed.length} named, ${unnamed.length} unnamed (${of('owed')} acknowledged, ${of('uncertain')} uncertain, ${of('absent')} refused for good)`,
    `repeats of stored requests: ${repeats.length}, ${answered.length} answered 200, ${answered.filter(({ isRecognised }) => isRecognised === true).length} of them as received before`,
  ];
};

/** The figures of a run, as lines. */
export const summaryOf = ({ rounds, seconds, isWhole }: Run): string[] => {
  const claims = rounds.flatMap((round) => round.claims);
  const items = (debt: Claim['debt']): number =>
    sum(
      claims.filter((claim) => claim.debt === debt),
      ({ count }) => count,
    );
  const findings = rounds.flatMap((round) => round.verdict.findings);
  const verdicts = rounds.map((round) => round.verdict);
  const judged = offences.map(
    (offence) => `${offence} ${findings.filter((finding) => finding.offence === offence).length}`,
  );
  const crashes = rounds.flatMap((round) => round.crashes);
  const all = rounds.flatMap((round) => round.done);
  const slow = all.filter(({ fault, note }) => fault.kind === 'stop' && note !== '');
  return [
    `${killsOf(all)} kills, pauses and stops, ${killsOf(all, true)} of them kill -9, in ${rounds.length} rounds${isWhole ? '' : ' (not all that were asked for)'}`,
    ...killLines(rounds),
    `other faults: ${linkLine(rounds)}`,
    `${claims.length} requests of ${sum(claims, ({ count }) => count)} items, ${answerLine(claims)}`,
    ...wholeLines(claims),
    grpcLine(claims),
    tokenLine(rounds, claims),
    `items: ${items('owed')} acknowledged, ${items('uncertain')} uncertain (${sum(verdicts, (verdict) => verdict.uncertainPresent)} of them stored), ${items('absent')} refused for good`,
    `rows read: ${sum(verdicts, ({ rows }) => rows)}; seen twice by overlaps when the streams had just become empty: ${sum(verdicts, ({ overlaps }) => overlaps)}; late repeats: ${sum(verdicts, ({ lateRepeats }) => lateRepeats)}; stored items with the verdict of a later try under another policy: ${sum(verdicts, ({ verdictsReplaced }) => verdictsReplaced)}`,
    `inserts of spans without the guard, in processes that saw the end of a round: ${sum(rounds, ({ plainInserts }) => plainInserts)}`,
    `violations: ${judged.join(', ')}`,
    `tables that QuestDB could not change any more, created again and redriven: ${sum(rounds, ({ mended }) => mended.length)}`,
    `processes that ended by themselves: ${crashes.length}; that had to be killed to stop: ${slow.length}`,
    ...crashes,
    `${seconds.toFixed(0)} s`,
  ];
};

const at = (ms: number): string => new Date(ms).toISOString().slice(11, 23);

const describeClaim = (claim: Claim): string[] => [
  `  request: ${claim.target.name}, ${claim.form}, items ${claim.first} to ${claim.first + claim.count - 1}, ${claim.isNamed ? 'named' : 'unnamed'}, ${claim.debt}`,
  ...claim.tries
    .slice(-8)
    .map(
      ({ sentAt, answeredAt, receiver, status, reason, isRepeat }) =>
        `    ingress-${receiver} ${at(sentAt)} to ${at(answeredAt)}: ${status === 0 ? 'no answer' : `${status} ${reason}`}${isRepeat === true ? ' (sent again)' : ''}`,
    ),
];

/** Findings of one offence in one request, or one that is of no request. */
type Offending = { readonly first: Finding; readonly ids: readonly number[] };

const byRequest = (findings: readonly Finding[]): Offending[] => {
  const ofClaims = new Map<Claim, { first: Finding; ids: number[] }>();
  const others: Offending[] = [];
  for (const finding of findings) {
    const { claim, id } = finding;
    const ids = id === undefined ? [] : [id];
    const known = claim === undefined ? undefined : ofClaims.get(claim);
    if (known !== undefined) known.ids.push(...ids);
    else if (claim !== undefined) ofClaims.set(claim, { first: finding, ids });
    else others.push({ first: finding, ids });
  }
  return [...ofClaims.values(), ...others];
};

const describeOffending = ({ first, ids }: Offending, { done }: Round): string[] => {
  const { offence, target, detail, claim } = first;
  const items = ids.length === 0 ? '' : `, ${ids.length} items: ${ids.slice(0, shownMax).join(' ')}`;
  const lines = [`${offence} in ${target}${items}: ${detail.slice(0, 400)}`];
  if (claim === undefined) return lines;
  lines.push(...describeClaim(claim));
  const from = (claim.tries[0]?.sentAt ?? 0) - nearMs;
  const until = (claim.tries.at(-1)?.answeredAt ?? 0) + nearMs;
  for (const fault of done) {
    if (fault.until < from || fault.from > until) continue;
    lines.push(
      `    fault ${at(fault.from)} to ${at(fault.until)}: ${describeFault(fault.fault)} ${fault.note}`,
    );
  }
  return lines;
};

/** What is wrong, with requests, answers and the faults near them; some requests of each offence. */
export const violationsOf = ({ rounds, failure }: Run): string[] => [
  ...(failure === undefined ? [] : [`the run did not come to its end: ${failure}`]),
  ...rounds.flatMap((round) =>
    offences.flatMap((offence) =>
      byRequest(round.verdict.findings.filter((finding) => finding.offence === offence))
        .slice(0, shownMax)
        .flatMap((offending) => describeOffending(offending, round)),
    ),
  ),
];

/** Writes the figures, the violations, all faults and what every process wrote to a folder. */
export const keepRun = (run: Run, folder: string): void => {
  mkdirSync(folder, { recursive: true });
  const write = (name: string, lines: readonly string[]): void =>
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
  write('report.txt', [...summaryOf(run), '', ...violationsOf(run)]);
  write(
    'faults.txt',
    run.faults.map(
      ({ round, done: { fault, from, until, note } }) =>
        `round ${round} ${at(from)} to ${at(until)}: ${describeFault(fault)} ${note}`,
    ),
  );
  for (const [name, lines] of run.logs) write(`${name}.log`, lines);
};
