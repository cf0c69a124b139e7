import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { adminWithoutRecords } from '../support/outcomes/dead-letter-admin.ts';
import { createOutcomeReader, type OutcomeReader } from '../support/outcomes/outcomes.ts';
import {
  actOn,
  allStored,
  oneDead,
  prepareRefusedExport,
  type RefusedExport,
} from '../support/outcomes/refused-export.ts';
import { type Stack, startStack } from '../support/stack/stack.ts';

const hourAhead = resolve(import.meta.dirname, '../support/account/hour-ahead.mjs');

let stack: Stack;
let bus: Bus;
let outcomes: OutcomeReader;
let next = 1;

beforeAll(async () => {
  stack = await startStack({
    ...{ traces: true, transfer: 2, duplicateWindowSeconds: 1 },
    roleEnv: async (role): Promise<Record<string, string>> =>
      role === 'transfer-0' ? { NODE_OPTIONS: `--import=${hourAhead}` } : {},
  });
  bus = await connectBus(stack.engines.nats.url, 'test');
  outcomes = createOutcomeReader(stack);
});
afterAll(async () => {
  await outcomes?.close();
  await bus?.close();
  await stack?.stop();
});

/** Only this one of the two transfer processes runs: the first has a clock that is an hour ahead. */
const onlyTransfer = async (index: 0 | 1): Promise<void> => {
  const [one, other] = [stack.transfer[index], stack.transfer[1 - index]];
  if (other?.running === true) await other.stop();
  if (one?.running !== true) one?.start();
  await one?.ready();
};

/** An export whose middle span was dead-lettered under the clock that is ahead; ClickHouse takes it from here on. */
const deadLetteredAhead = async (): Promise<RefusedExport> => {
  await onlyTransfer(0);
  const sent = await prepareRefusedExport(stack, bus, outcomes, next++);
  await sent.send();
  expect(await sent.balance()).toEqual(oneDead);
  await sent.accept();
  await onlyTransfer(1);
  return sent;
};

// The last record of a key replaces the others: by the clocks of different machines, an earlier one could be the last.
it('outcomes under a clock that was an hour ahead give way to later ones of a repeat under a right clock', async () => {
  const sent = await deadLetteredAhead();
  await sent.repeatAfterTheWindow();
  expect(await sent.balance()).toEqual(allStored);
  expect(await sent.rows()).toBe(3);
  await actOn(stack, 'purge', await sent.letter());
  expect(await sent.balance()).toEqual(allStored);
});

it('the purge of a dead letter of a clock that was an hour ahead replaces no record of its redrive', async () => {
  const sent = await deadLetteredAhead();
  const kept = await (await bus.manager()).streams.getMessage('DEADLETTER', { seq: await sent.letter() });
  if (kept === null) throw new Error('no dead letter');
  await actOn(stack, 'redrive', await sent.letter());
  expect(await sent.balance()).toEqual(allStored);
  // As a restored copy of DEADLETTER has it.
  await bus.js.publish(kept.subject, kept.data);
  const admin = await adminWithoutRecords(bus);
  const letter = await admin.get(await sent.letter());
  if (letter === undefined) throw new Error('no dead letter');
  await admin.purge(letter);
  expect(await sent.balance()).toEqual(allStored);
});

const lineAnswer = z.object({ troubles: z.array(z.looseObject({ code: z.string(), text: z.string() })) });

// Receivers judge times by their own clock: an operator has to see which one is wrong.
it('a role with a clock that is an hour ahead is named among the troubles, and one with a right clock is not', async () => {
  const clocks = async (): Promise<string[]> => {
    const { body } = await stack.api('GET', '/api/v1/line');
    return lineAnswer
      .parse(body)
      .troubles.filter(({ code }) => code === 'clock_off')
      .map(({ text }) => text);
  };
  await onlyTransfer(0);
  await expect
    .poll(clocks)
    .toEqual([expect.stringMatching(/^transfer .*: its clock is 3\d{3} seconds ahead of that of NATS$/)]);
  await onlyTransfer(1);
  await expect.poll(clocks).toEqual([]);
});
