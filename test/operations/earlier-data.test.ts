import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type EngineAccount, withAccount } from '../../src/config/engine-credentials.ts';
import { type Cli, createCli } from '../support/clients/cli.ts';
import {
  droppedReason,
  type EarlierData,
  type Export,
  expectedOf,
  exportSpans,
  figuresOf,
  makeEarlierData,
  pushPoints,
  rotateTokens,
} from '../support/stack/earlier-data.ts';
import { testPipelines } from '../support/stack/stack.ts';
import { openTempFolder } from '../support/stack/temp-folder.ts';
import { installationOn, killUp, spawnUp, type Up, untilReady } from '../support/stack/up-process.ts';
import { openWholeLine, type WholeLine } from '../support/stack/whole-line.ts';
import { waitFor } from '../support/wait.ts';

let folder: { path: string; remove(): Promise<void> };
let data: string;
let earlier: EarlierData;
let up: Up;
let line: WholeLine;
let cli: Cli;

const addressOf = (engine: { url: string; user: string | null; password: string | null }): string => {
  const account: EngineAccount = { user: engine.user ?? '', password: engine.password ?? '' };
  return withAccount(engine.url, account);
};

beforeAll(async () => {
  folder = await openTempFolder();
  data = join(folder.path, 'data');
  for (const name of ['earlier', 'now']) mkdirSync(join(folder.path, name));
  earlier = await makeEarlierData(data, join(folder.path, 'earlier'));
  up = spawnUp(data, { ...earlier.env, TIDEMARK_PIPELINES: testPipelines(join(folder.path, 'now'), 4) });
  await untilReady(up);
  const { nats, questdb, clickhouse } = await installationOn(data);
  line = await openWholeLine(
    {
      ...earlier.addresses,
      ...{ nats: addressOf(nats), questdb: addressOf(questdb), clickhouse: addressOf(clickhouse) },
    },
    data,
  );
  cli = createCli(() => ({
    PATH: process.env['PATH'],
    TIDEMARK_ADMIN_URL: earlier.addresses.admin,
    TIDEMARK_ADMIN_TOKEN: line.adminToken,
  }));
});
afterAll(async () => {
  await line?.close();
  if (up !== undefined) await killUp(up);
  await folder?.remove();
});

/** Every item that any version acknowledged is stored once or accounted for, and nothing else is. */
const expectExact = async (): Promise<void> => {
  expect(await figuresOf(line, earlier.ledger)).toEqual(expectedOf(earlier.ledger));
};

/** Sends the same request twice more; the second time the bus has just got its id. */
const repeat = async (send: () => Promise<{ status: number; text: string }>): Promise<string> => {
  await waitFor('the token is taken', 60_000, async () => (await send()).status === 200);
  const { status, text } = await send();
  expect(status, text).toBe(200);
  return text;
};

const receivedBefore = expect.stringMatching(/^(this request was )?received before/);

const repeatPushes = async (tokenOf: (own: string) => string, ...keys: string[]): Promise<void> => {
  for (const { key, token, body } of earlier.ledger.keyed.filter((each) => keys.includes(each.key))) {
    const text = await repeat(() => line.push(body(tokenOf(token)), key));
    expect(JSON.parse(text)).toMatchObject({ code: '200', message: receivedBefore });
  }
};

const repeatExports = async (tokenOf: (own: string) => string, exports: readonly Export[]): Promise<void> => {
  for (const { body, token } of exports) {
    const text = await repeat(() => line.exportSpans(body, tokenOf(token)));
    expect(JSON.parse(text)).toEqual({
      partialSuccess: { rejectedSpans: '0', errorMessage: receivedBefore },
    });
  }
};

const listSchema = z.object({
  items: z.array(z.object({ sequence: z.number(), reason: z.string(), items: z.number() })),
});
const dropsSchema = z.object({
  items: z.array(z.object({ reason: z.string(), data_id: z.number(), field: z.string() })),
});

// One after another: each adds to what the next one counts.
describe('a data folder of an earlier version that was killed with messages in its streams', () => {
  it('holds each acknowledged item once, also those that waited in the stream', async () => {
    await expectExact();
  });

  it('shows its dropped items, with the reason', async () => {
    const { wide } = earlier.ledger;
    const { items } = await cli.json(dropsSchema, `drops --data-id ${wide.dataId} --reason ${droppedReason}`);
    const drop = { reason: droppedReason, data_id: wide.dataId, field: 'timestamp' };
    expect(items).toEqual([drop, drop]);
  });

  it('accepts new items, whose uids no row has yet', async () => {
    // As many as the earlier version counted: from the same number on they would meet.
    await pushPoints(line, earlier.ledger, 'wide', 2_000, 1);
    await pushPoints(line, earlier.ledger, 'narrow', 30);
    await exportSpans(line, earlier.ledger, 'new');
    await expectExact();
  });

  it('stores no repeat of an earlier request under its earlier token', async () => {
    await repeatPushes((own) => own, 'K1', 'K2', 'K3');
    await repeatExports((own) => own, earlier.ledger.exports);
    await expectExact();
  });

  it('stores nothing again of it under a token that this version issues, nor under the one before', async () => {
    const { wide, spans } = earlier.ledger;
    const exports = earlier.ledger.exports.filter(({ token }) => token === spans.token);
    expect(exports).toHaveLength(2);
    await rotateTokens(line, earlier.ledger);
    await repeatPushes(() => wide.token, 'K2', 'K3');
    await repeatPushes((own) => own, 'K2', 'K3');
    await repeatExports(() => spans.token, exports);
    await repeatExports((own) => own, exports);
    await expectExact();
  });

  it('shows its dead letter, whose span is stored once when it is redriven', async () => {
    const { spans, books } = earlier.ledger;
    const letters = `dlq list --app-id ${spans.appId}`;
    expect((await cli.json(listSchema, letters)).items).toEqual([
      { sequence: expect.any(Number), reason: 'span_refused', items: 1 },
    ]);
    expect(await cli.text(`dlq redrive --app-id ${spans.appId}`)).toBe('1 dead letter (1 item) redriven\n');
    books.spans.deadLettered--;
    books.spans.stored++;
    await expectExact();
    expect((await cli.json(listSchema, letters)).items).toEqual([]);
    const poison = `SELECT count() FROM otel.otel_traces WHERE SpanName = 'poison'`;
    expect(await line.clickhouse(poison)).toBe('1\n');
  });

  it('is closed to other users, and its engines require credentials', async () => {
    expect(statSync(data).mode & 0o777).toBe(0o700);
    expect(statSync(join(data, 'credentials.json')).mode & 0o777).toBe(0o600);
    const { host } = new URL(earlier.addresses.nats);
    await expect(connect({ servers: host, reconnect: false })).rejects.toThrow(/authorization/i);
    for (const address of [`${earlier.addresses.questdb}/exec?query=SELECT+1`, earlier.addresses.clickhouse])
      expect((await fetch(address)).status).toBe(401);
  });
});
