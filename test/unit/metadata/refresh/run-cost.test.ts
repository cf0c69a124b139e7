import { expect, it } from 'vitest';
import { runOnce } from '../../../../src/metadata/refresh/run.ts';
import {
  createRigNodeManagement,
  createRigRecords,
  rigLease,
  rigRunDeps,
} from '../../../support/metadata/refresh-rig.ts';

// Ten thousand held reports kept metadata from all else for seconds.
it('a run makes the content of each held report once, and lets the process do other things between', async () => {
  const reports = createRigRecords();
  for (let dataId = 1; dataId <= 1_000; dataId++) reports.add(dataId);
  const api = createRigNodeManagement();
  let described = 0;
  const nodeManagement = {
    ...api.nodeManagement,
    describe: () => {
      described++;
      return {};
    },
    endingWith: () => nodeManagement,
  };
  const deps = rigRunDeps({ records: reports.records, nodeManagement });
  expect(await runOnce(deps, rigLease, 1, 'manual')).toMatchObject({ created: 1_000 });
  described = 0;
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  expect(await runOnce(deps, rigLease, 2, 'manual')).toMatchObject({ unchanged: 1_000 });
  isOver = true;
  expect(described).toBe(1_000);
  // Three passes of ten hundreds.
  expect(turns).toBeGreaterThan(25);
});
