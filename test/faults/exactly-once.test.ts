import { expect, it } from 'vitest';
import { keepRun, violationsOf } from './report.ts';
import { killsOf, run } from './run.ts';
import { isProcessFault, processKinds } from './schedule.ts';

it('eight kills over all six kinds of process, with faults of links between them: every item as it was answered', async () => {
  const result = await run({
    seed: 2,
    kills: 8,
    killsPerRound: 8,
    gapMs: 1_200,
    sendersEach: 2,
    duplicateWindowSeconds: 300,
    hasOutcomes: true,
    calmRounds: [],
    // QuestDB 9.3.4 that is killed while it creates the first columns of a table may refuse that table from then on:
    // docs/exactly-once.md.
    isWarm: true,
    msMax: 300_000,
    say: () => {},
  });
  const violations = violationsOf(result);
  if (violations.length > 0) keepRun(result, '.faults/test');
  expect(violations, violations.join('\n')).toEqual([]);
  const done = result.rounds.flatMap((round) => round.done);
  expect(killsOf(done)).toBeGreaterThanOrEqual(8);
  const kinds = new Set(done.flatMap(({ fault }) => (isProcessFault(fault) ? [fault.processKind] : [])));
  expect([...kinds].sort()).toEqual([...processKinds].sort());
  const claims = result.rounds.flatMap((round) => round.claims);
  expect(claims.filter(({ debt }) => debt === 'owed').length).toBeGreaterThan(50);
  // Spans over gRPC among them.
  const calls = claims.flatMap(({ tries }) => tries.filter(({ isGrpc }) => isGrpc === true));
  expect(calls.some(({ status }) => status === 200)).toBe(true);
});
