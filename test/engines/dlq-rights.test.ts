import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { type KvBucket, openKvBucket } from '../../src/bus/kv.ts';
import { isNothingStored, publishConfirmed } from '../../src/bus/outbox.ts';
import { ensureTopology } from '../../src/bus/topology.ts';
import { loadPipelines } from '../../src/config/pipelines.ts';
import type { DeadLetterAdmin } from '../../src/dead-letters/admin.ts';
import type { Letter } from '../../src/dead-letters/dead-letter.ts';
import { buckets } from '../../src/directory/keys.ts';
import { adminOn } from '../support/outcomes/dead-letter-admin.ts';
import { plantDeadLetters } from '../support/outcomes/dead-letters.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';

// Dead letters whose way back the user of metadata may not publish to, as with users of an earlier version.

/** Of an instance that the users were not written for. */
const subject = 'metrics-unknown.0';

let engines: TestEngines;
let all: Bus;
let metadata: Bus;
let claims: KvBucket;
let admin: DeadLetterAdmin;
beforeAll(async () => {
  engines = await startEngines({ nats: true });
  all = await connectBus(engines.nats.url, 'test');
  await ensureTopology(all, loadPipelines('pipelines').streams);
  await openKvBucket(all, buckets.system);
  metadata = await connectBus(engines.asUser(engines.nats.url, 'metadata'), 'metadata');
  claims = await openKvBucket(metadata, buckets.system);
  admin = adminOn(metadata, claims);
});
afterAll(async () => {
  await metadata?.close();
  await all?.close();
  await engines?.stop();
});

const planted = async (): Promise<Letter> => {
  await plantDeadLetters(all, 1);
  const letter = await admin.get(await admin.last());
  if (letter === undefined) throw new Error('no dead letter');
  return { ...letter, header: { ...letter.header, subject } };
};
const claimOf = ({ sequence }: Letter) => claims.get(`dead_letter.${sequence}`);
const refused = { kind: 'permanent', code: 'nats_not_permitted' };

it('a redrive that NATS refuses for lack of a right has done nothing, and leaves the letter to a purge', async () => {
  const letter = await planted();
  await expect(admin.redrive(letter)).rejects.toMatchObject(refused);
  expect(await claimOf(letter)).toBeUndefined();
  await admin.purge(letter);
  expect(await admin.get(letter.sequence)).toBeUndefined();
});

it('a redrive that NATS refuses for lack of a right keeps the claim of an earlier try, which may have stored its message', async () => {
  const letter = await planted();
  await claims.create(`dead_letter.${letter.sequence}`, { action: 'redrive', at: 1 });
  await expect(admin.redrive(letter)).rejects.toMatchObject(refused);
  await expect(admin.purge(letter)).rejects.toMatchObject({ code: 'dead_letter_busy' });
});

// The client gives a refusal to the oldest publish of its subject: another one may be the refused one, and this one stored.
it('of two publishes to one subject at once, a refusal does not say that nothing is stored', async () => {
  const publish = (messageId: string) =>
    publishConfirmed(metadata, { subject, messageId, payload: Buffer.from('x') }).catch(
      (error: unknown) => error,
    );
  const faults = await Promise.all([publish('one'), publish('two')]);
  expect(faults).toMatchObject([{ kind: 'transient' }, { kind: 'transient' }]);
  expect(faults.map(isNothingStored)).toEqual([false, false]);
  expect(isNothingStored(await publish('three'))).toBe(true);
});
