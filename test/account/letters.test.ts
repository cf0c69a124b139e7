import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccountStack, seenMsMax, startAccountStack } from '../support/account/account-stack.ts';
import { messagesOf } from '../support/outcomes/books.ts';
import type { Application } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

let on: AccountStack;

beforeAll(async () => {
  on = await startAccountStack();
});
afterAll(() => on?.stop());

const table = 'ALTER TABLE otel.otel_traces';
let trace = 0;

/** An export of three spans, of which ClickHouse refuses the second while its constraint is there. */
const send = async (application: Application): Promise<void> => {
  const time = `${Date.now()}000000`;
  trace++;
  const spans = ['first', 'refused', 'last'].map((name, index) => ({
    traceId: String(trace).padStart(32, 'e'),
    spanId: String(index + 1).padStart(16, '0'),
    name,
    startTimeUnixNano: time,
    endTimeUnixNano: time,
  }));
  const response = await fetch(`http://127.0.0.1:${on.stack.ingress[0]?.ports['otlp']}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mon-token': application.token },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
  });
  expect(response.status).toBe(200);
};

const shows = (application: Application, figures: Record<string, unknown>): Promise<unknown> =>
  waitFor(`the account shows ${JSON.stringify(figures)}`, 120_000, async () => {
    const account = await on.account(application);
    expect(account).toMatchObject({ in_flight: 0, ...figures });
    return account;
  });

const lettersOf = async (application: Application): Promise<number[]> => {
  const { body } = await on.stack.api('GET', `/api/v1/dead-letters?app_id=${application.app_id}`);
  const { items }: { items: { sequence: number }[] } = JSON.parse(JSON.stringify(body));
  return items.map(({ sequence }) => sequence);
};

/** An application with this many dead letters of a span each, which the store would take now. */
const withLetters = async (name: string, letters: number): Promise<Application> => {
  const application = await on.stack.createApplication(name);
  await on.change(`${table} ADD CONSTRAINT refused CHECK SpanName != 'refused'`);
  for (let count = 0; count < letters; count++) await send(application);
  await shows(application, { dead_lettered: letters, stored: 2 * letters, adds_up: true });
  await on.change(`${table} DROP CONSTRAINT refused`);
  return application;
};

const redrive = async (application: Application): Promise<void> => {
  for (const sequence of await lettersOf(application))
    expect((await on.stack.api('POST', `/api/v1/dead-letters/${sequence}/redrive`, {})).status).toBe(200);
};

/** Nothing takes messages from TRACES until the answer is called, while LEDGER is written. */
const pause = async (): Promise<() => Promise<unknown>> => {
  const { consumers } = await on.bus.manager();
  await consumers.pause('TRACES', 'clickhouse', new Date(Date.now() + 600_000));
  return () => consumers.resume('TRACES', 'clickhouse');
};

const lostSpans = (items: number) => [
  { kind: 'lost_in_the_stream', stream: 'TRACES', items, messages: items },
];

describe('a dead letter that is gone', () => {
  it('is a loss of its items where its redrive was deleted from the stream, and the others are stored', async () => {
    const application = await withLetters('redrives deleted', 3);
    await on.settled();
    const [transfer] = on.stack.transfer;
    await transfer?.kill();
    await redrive(application);
    const messages = await messagesOf(on.bus, 'TRACES');
    expect(messages).toHaveLength(3);
    const startedAt = performance.now();
    const { streams } = await on.bus.manager();
    for (const { sequence } of messages.slice(0, 2)) await streams.deleteMessage('TRACES', sequence);
    transfer?.start();
    await transfer?.ready();
    await on.seen('deletion of 2 of 3 redrives', application, lostSpans(2), startedAt);
    await shows(application, { received: 9, stored: 7, dead_lettered: 0, lost: 2 });
  });

  it('is a loss where the stream was purged, while nothing takes messages from it', async () => {
    const application = await withLetters('redrives purged', 2);
    await on.settled();
    const resume = await pause();
    await redrive(application);
    const startedAt = performance.now();
    await (await on.bus.manager()).streams.purge('TRACES');
    await on.seen('a purge of 2 redrives', application, lostSpans(2), startedAt);
    await resume();
    await shows(application, { received: 6, stored: 4, dead_lettered: 0, lost: 2 });
  });

  it('is a loss where it was deleted from DEADLETTER, and once more where DEADLETTER is purged', async () => {
    const application = await withLetters('letters deleted', 3);
    const [sequence = 0] = await lettersOf(application);
    const { streams } = await on.bus.manager();
    let startedAt = performance.now();
    await streams.deleteMessage('DEADLETTER', sequence);
    await on.seen('deletion of 1 of 3 letters', application, lostSpans(1), startedAt);
    startedAt = performance.now();
    await streams.purge('DEADLETTER');
    await on.seen('a purge of DEADLETTER', application, lostSpans(3), startedAt);
    await shows(application, { received: 9, stored: 6, dead_lettered: 0, lost: 3 });
  });

  it('is none while its redrive waits, in every look', async () => {
    const application = await withLetters('redrives wait', 2);
    await on.settled();
    const resume = await pause();
    await redrive(application);
    const seenAt = performance.now();
    const wrong: unknown[] = [];
    await waitFor('some looks', 120_000, async () => {
      const account = await on.account(application);
      if (account?.dead_lettered !== 2 || account.adds_up !== true) wrong.push(account);
      return performance.now() - seenAt > 75_000;
    });
    expect(wrong).toEqual([]);
    await resume();
    await shows(application, { received: 6, stored: 6, dead_lettered: 0, lost: 0, adds_up: true });
  });

  // Metadata has looked for more than a minute since the last redrive was lost.
  it('stands in one difference: its redrive is no further message that is lost', async () => {
    await waitFor('no difference beside those of the letters', seenMsMax, async () => {
      expect(await on.unexpected()).toEqual([]);
      return true;
    });
  });
});
