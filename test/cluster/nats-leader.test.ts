import { expect, it } from 'vitest';
import { keepRun, violationsOf } from '../faults/report.ts';
import { killsOf, run } from '../faults/run.ts';
import { isProcessFault } from '../faults/schedule.ts';

it('the leader of a stream of three copies, killed, stopped and paused under load with ingress and transfer: every item as it was answered', async () => {
  const result = await run({
    seed: 5,
    kills: 18,
    killsPerRound: 9,
    gapMs: 3_000,
    sendersEach: 2,
    duplicateWindowSeconds: 300,
    hasOutcomes: true,
    hasNatsCluster: true,
    processKinds: ['nats', 'nats', 'ingress', 'transfer'],
    calmRounds: [],
    isWarm: true,
    msMax: 400_000,
    say: (line) => process.stdout.write(`${line}\n`),
  });
  if (violationsOf(result).length > 0) keepRun(result, '.faults/cluster');
  expect(violationsOf(result)).toEqual([]);
  const done = result.rounds.flatMap((round) => round.done);
  expect(killsOf(done)).toBeGreaterThanOrEqual(18);
  const ofNats = done.filter(({ fault }) => isProcessFault(fault) && fault.processKind === 'nats');
  expect(ofNats.length).toBeGreaterThanOrEqual(6);
  const claims = result.rounds.flatMap((round) => round.claims);
  expect(claims.filter(({ debt }) => debt === 'owed').length).toBeGreaterThan(100);
});
