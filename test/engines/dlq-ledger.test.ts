import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ledgerSubjects, ledgerTables } from '../../src/outcomes/rows.ts';
import { type AccountStack, startAccountStack } from '../support/account/account-stack.ts';
import { type Cli, createCli } from '../support/clients/cli.ts';
import { readDeadLetters } from '../support/outcomes/dead-letters.ts';
import { until } from '../support/until.ts';

// Lines of the books that ClickHouse refused, as NATS with the users that are shipped lets them be redriven.

let on: AccountStack;
let cli: Cli;
beforeAll(async () => {
  on = await startAccountStack();
  const { stack } = on;
  cli = createCli(() => ({
    PATH: process.env['PATH'],
    TIDEMARK_ADMIN_URL: `http://127.0.0.1:${stack.metadata.ports['api']}`,
    TIDEMARK_ADMIN_TOKEN: stack.adminToken(),
  }));
});
afterAll(() => on?.stop());

const subjects = Object.values(ledgerSubjects);
const answer = z.object({ matched: z.number(), done: z.number(), failed: z.array(z.unknown()) });
const redriveAll = () => cli.json(answer, 'dlq redrive --pipeline ledger');
const lettersOfLines = async () =>
  (await readDeadLetters(on.bus)).filter(({ header }) => header['reason'] === 'ledger_line_refused');

/** ClickHouse refuses the lines of this data id in both books and in usage. Answers how it takes them again. */
const refuseLines = async (dataId: number): Promise<() => Promise<void>> => {
  // The table of settled lines keeps no row itself, and takes no constraint.
  const tables = ['ingest_settled', ledgerTables.published, ledgerTables.usage];
  for (const table of tables)
    await on.change(`ALTER TABLE otel.${table} ADD CONSTRAINT poison CHECK data_id != ${dataId}`);
  return async () => {
    for (const table of tables) await on.change(`ALTER TABLE otel.${table} DROP CONSTRAINT poison`);
  };
};

describe('the lines of the ledger that ClickHouse refused', () => {
  // One such letter makes every account unknown, and its redrive is the only way out.
  it('are redriven, and the account is known and right', async () => {
    const report = await on.stack.createReport('refused lines');
    const other = await on.stack.createReport('another');
    await on.push(other, 2);
    await on.whole(other, 2);
    const accept = await refuseLines(report.data_source.mon_data_id);
    await on.push(report, 3);
    await until('the lines of both books and of usage are refused', async () => {
      const of = new Set((await lettersOfLines()).map(({ header }) => header['subject']));
      return ['settled', 'published', 'usage'].every((kind) => of.has(`ledger.${kind}`));
    });
    await until('no account is known', async () => (await on.account(other))?.adds_up === null);
    await accept();
    await on.settled();
    const { length } = await lettersOfLines();
    expect(await redriveAll()).toMatchObject({ matched: length, done: length, failed: [] });
    await on.whole(report, 3);
    await on.whole(other, 2);
    expect(await lettersOfLines()).toEqual([]);
  });

  // NATS takes a second letter with the message id of the first one for a repeat, and the line would be gone.
  it('go back to the stream from every one of its subjects, and those that are refused again are kept again', async () => {
    for (const subject of subjects)
      await on.bus.js.publish(subject, `${JSON.stringify({ unknown: subject })}\n`);
    const seen = async (redrive: number) =>
      (await lettersOfLines())
        .filter(({ header }) => header['redrive'] === redrive)
        .map(({ header }) => header['subject'])
        .toSorted();
    await until('all are refused', async () => (await seen(0)).length === subjects.length);
    expect(await redriveAll()).toMatchObject({ done: subjects.length, failed: [] });
    await until('all are refused again', async () => (await seen(1)).length === subjects.length);
    expect(await seen(1)).toEqual(subjects.toSorted());
    await cli.text('dlq purge --pipeline ledger --yes');
    expect(await lettersOfLines()).toEqual([]);
  });
});
