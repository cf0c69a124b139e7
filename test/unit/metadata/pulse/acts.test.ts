import { expect, it } from 'vitest';
import { createActs, shownActs } from '../../../../src/metadata/pulse/acts.ts';
import { termsOf } from '../../../../src/metadata/pulse/hour-account.ts';
import { createProcesses } from '../../../../src/metadata/pulse/processes.ts';
import { pulseSubject } from '../../../../src/telemetry/pulse.ts';
import { bytesOf, pulseOf } from '../../../support/pulses.ts';

it('an act on dead letters is shown while it runs and for some seconds after, by its counts', () => {
  let elapsed = 0;
  const acts = createActs(
    () => elapsed,
    () => 1_800_000_000_500,
  );
  const progress = acts.begin('redrive', false);
  progress.matched(3);
  progress.done(10);
  progress.failed();
  const shown = { id: 1, act: 'redrive', isDryRun: false, startedAt: 1_800_000_000 };
  expect(acts.list()).toEqual([{ ...shown, matched: 3, done: 1, failed: 1, items: 10, hasEnded: false }]);
  elapsed += 60_000;
  progress.done(5);
  progress.end();
  expect(acts.list()).toMatchObject([{ done: 2, items: 15, hasEnded: true }]);
  elapsed += 4_000;
  expect(acts.list()).toEqual([]);
});

it('an act is not shown as running once its process is gone, and is again when that is heard again', () => {
  let elapsed = 0;
  const processes = createProcesses({ elapsed: () => elapsed, onIgnored: () => {} });
  const acts = createActs(
    () => elapsed,
    () => 1_800_000_000_500,
  );
  acts.begin('purge', false).matched(3);
  const beat = (): void =>
    processes.take(
      bytesOf(pulseOf({ metadata: { requests: 0, acts: acts.list() } })),
      pulseSubject('metadata', '0000000000000001'),
    );
  beat();
  const shown = [{ id: '0000000000000001-1', act: 'purge', matched: 3, has_ended: false }];
  expect(shownActs(processes.list())).toMatchObject(shown);
  elapsed += 4_900;
  expect(shownActs(processes.list())).toMatchObject(shown);
  elapsed += 200;
  expect(shownActs(processes.list())).toEqual([]);
  beat();
  expect(shownActs(processes.list())).toMatchObject(shown);
});

it('at most eight acts are shown, the newest ones', () => {
  const acts = createActs(
    () => 0,
    () => 0,
  );
  for (let count = 0; count < 12; count++) acts.begin('purge', true);
  expect(acts.list().map(({ id }) => id)).toEqual([5, 6, 7, 8, 9, 10, 11, 12]);
});

it('the terms of the hour are the sums over all owners, with the drops of all reasons', () => {
  const account = {
    pipeline: 'metrics',
    dataId: 1,
    appId: 0,
    received: 10,
    recorded: 9,
    stored: 5,
    dropped: { a: 1, b: 2 },
    deadLettered: 1,
    repeated: 0,
    lost: 0,
    stuck: 0,
    unrecorded: 0,
    inFlight: 1,
    addsUp: true,
    differences: [],
    refusals: [],
  } as const;
  expect(termsOf([account, account])).toEqual({
    received: 20,
    stored: 10,
    dropped: 6,
    dead_lettered: 2,
    repeated: 0,
    lost: 0,
    stuck: 0,
    unrecorded: 0,
    in_flight: 2,
  });
});
