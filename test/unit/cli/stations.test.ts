import { afterEach, expect, it, vi } from 'vitest';
import { followStages, type Stage } from '../../../src/cli/stations.ts';
import { Fault } from '../../../src/model/fault.ts';

const exitCode = process.exitCode;
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = exitCode;
});

const followed = async (stages: readonly Stage[], options: { json?: true }): Promise<string> => {
  let text = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  await followStages(stages, options);
  return text;
};

const pass = () => Promise.resolve('stored');
const offStages: readonly Stage[] = [
  [
    'QuestDB',
    () => Promise.reject(new Fault('permanent', 'explore_off', 'TIDEMARK_CONSOLE_EXPLORE is off.')),
  ],
  ['account', async (isSeen) => (isSeen ? 'stored' : 'counted')],
];

// What the account counts may be the item of another producer.
it('a station that the admin API answers no queries about is not judged, nor is the next one, which is reached', async () => {
  expect(await followed(offStages, {})).toMatch(
    /^– {7}QuestDB +\d+ ms {2}not looked at: TIDEMARK_CONSOLE_EXPLORE is off\.\n– {7}account +\d+ ms {2}counted\n$/,
  );
  expect(process.exitCode).toBe(exitCode);
  expect(JSON.parse(await followed(offStages, { json: true }))).toMatchObject({
    well: true,
    stations: [
      { name: 'QuestDB', ok: null },
      { name: 'account', ok: null },
    ],
  });
});

it('an item in its store whose outcome is not recorded yet is no failure', async () => {
  const late = () => Promise.reject(new Fault('transient', 'outcome_not_yet', 'stored; not recorded yet'));
  const stages: readonly Stage[] = [
    ['QuestDB', pass],
    ['account', late],
  ];
  expect(await followed(stages, {})).toMatch(/\n– {7}account +\d+ ms {2}stored; not recorded yet\n$/);
  expect(process.exitCode).toBe(exitCode);
});

it('a failed station is the last one, and the exit code is 1', async () => {
  const stages: readonly Stage[] = [
    ['receiver', () => Promise.reject(new Error('refused'))],
    ['account', pass],
  ];
  expect(await followed(stages, {})).toMatch(/^NOT OK {2}receiver +\d+ ms {2}refused\n$/);
  expect(process.exitCode).toBe(1);
});
