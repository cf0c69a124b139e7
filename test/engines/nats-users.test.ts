import { join } from 'node:path';
import { connect, type NatsConnection, PermissionViolationError } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { keepFleetingBucket } from '../../src/bus/fleeting-bucket.ts';
import { findKvBucket, openKvBucket } from '../../src/bus/kv.ts';
import { inboxPrefixOf, type NatsUserName } from '../../src/bus/nats-users.ts';
import { ensureTopology, findTopology } from '../../src/bus/topology.ts';
import { putBack } from '../../src/cli/streams-backup/put-back.ts';
import { takeBackup } from '../../src/cli/streams-backup/take.ts';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { buckets, recordKeys } from '../../src/directory/keys.ts';
import { demandPrefix, ratesLimits } from '../../src/directory/rates-bucket.ts';
import { createRole, type RoleName } from '../../src/embedded/role.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { takePorts } from '../support/stack/ports.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { waitFor } from '../support/wait.ts';

const pipelines = loadPipelines('pipelines');
const record = recordKeys.dataSource(1_500_001);

let engines: TestEngines;
beforeAll(async () => {
  engines = await startEngines({ nats: true });
  const bus = await connectBus(engines.nats.url, 'test');
  await ensureTopology(bus, pipelines.streams);
  for (const name of [buckets.records, buckets.columns, buckets.system, buckets.sessions])
    await openKvBucket(bus, name);
  await (await openKvBucket(bus, buckets.records)).put(record, { token: 'secret' });
  await bus.js.publish('metrics.0', 'a point');
  await bus.close();
});
afterAll(() => engines?.stop());

const open = async (role: NatsUserName): Promise<NatsConnection> => {
  const { host, username: user, password: pass } = new URL(engines.asUser(engines.nats.url, role));
  return connect({ servers: host, user, pass, inboxPrefix: inboxPrefixOf(role), reconnect: false });
};

/** What the server refuses of this; undefined = nothing. */
const refusal = async (
  role: NatsUserName,
  act: (nc: NatsConnection) => unknown,
): Promise<string | undefined> => {
  const nc = await open(role);
  let refused: string | undefined;
  const following = (async () => {
    for await (const status of nc.status())
      if (status.type === 'error' && status.error instanceof PermissionViolationError)
        refused ??= `${status.error.operation} ${status.error.subject}`;
  })();
  try {
    await Promise.resolve(act(nc)).catch(() => undefined);
    await nc.flush();
  } finally {
    await nc.close();
    await following;
  }
  return refused;
};

const recordSubject = `$KV.${buckets.records}.${record}`;
const readsRecord = `$JS.API.DIRECT.GET.KV_${buckets.records}.${recordSubject}`;

// The records hold every write token: a process that reads them writes in the name of each producer.
it('nobody reads the records without credentials', async () => {
  const { host } = new URL(engines.nats.url);
  await expect(connect({ servers: host, reconnect: false })).rejects.toThrow(/Authorization Violation/);
  const wrong = connect({ servers: host, user: 'ingress', pass: 'wrong', reconnect: false });
  await expect(wrong).rejects.toThrow(/Authorization Violation/);
});

describe('NATS refuses', () => {
  it.each<[NatsUserName, string]>([
    ['ingress', '$JS.API.STREAM.PURGE.METRICS'],
    ['ingress', '$JS.API.STREAM.DELETE.METRICS'],
    ['ingress', '$JS.API.STREAM.UPDATE.METRICS'],
    ['ingress', '$JS.API.STREAM.CREATE.METRICS'],
    ['ingress', '$JS.API.STREAM.MSG.GET.METRICS'],
    ['ingress', '$JS.API.DIRECT.GET.METRICS'],
    ['ingress', '$JS.API.CONSUMER.MSG.NEXT.METRICS.questdb'],
    ['ingress', '$JS.API.CONSUMER.CREATE.METRICS.mine'],
    ['ingress', '$JS.API.CONSUMER.DELETE.METRICS.questdb'],
    ['ingress', '$JS.API.DIRECT.GET.KV_tidemark-system.$KV.tidemark-system.admin_tokens'],
    ['ingress', '$KV.tidemark-records.data_source.1500001'],
    ['ingress', 'deadletter.metrics'],
    ['ingress', 'ledger.settled'],
    ['transfer', 'metrics.0'],
    ['transfer', 'traces.0'],
    ['transfer', 'audit.report.1.x'],
    ['transfer', readsRecord],
    ['transfer', '$JS.API.STREAM.MSG.GET.KV_tidemark-records'],
    ['transfer', '$JS.API.DIRECT.GET.KV_tidemark-system.$KV.tidemark-system.admin_tokens'],
    ['transfer', '$JS.API.STREAM.DELETE.METRICS'],
    ['transfer', '$JS.API.STREAM.CREATE.METRICS'],
    ['transfer', '$JS.API.STREAM.PURGE.KV_tidemark-system'],
    ['metadata', '$JS.API.CONSUMER.MSG.NEXT.METRICS.questdb'],
    ['metadata', '$JS.API.STREAM.DELETE.METRICS'],
    ['metadata', '$JS.API.STREAM.PURGE.METRICS'],
    ['metadata', '$JS.API.STREAM.RESTORE.METRICS'],
    ['metadata', '$JS.API.STREAM.SNAPSHOT.METRICS'],
    ['operator', 'metrics.0'],
    ['operator', '$JS.API.STREAM.DELETE.METRICS'],
    ['operator', '$JS.API.STREAM.PURGE.METRICS'],
    ['operator', '$JS.API.CONSUMER.MSG.NEXT.METRICS.questdb'],
  ])('that %s publishes to %s', async (role, subject) => {
    expect(await refusal(role, (nc) => nc.publish(subject, '{}'))).toBe(`publish ${subject}`);
  });

  const ofStreams = ['CREATE', 'UPDATE', 'DELETE', 'RESTORE'].flatMap((call) =>
    ['KV_tidemark-rates', 'KV_tidemark-system', 'METRICS', 'COPY'].map(
      (stream) => `$JS.API.STREAM.${call}.${stream}`,
    ),
  );
  // The server checks nothing in the body: a stream with other subjects, sources or a republish reads and writes all others.
  it.each(['ingress', 'transfer'] as const)('that %s makes, changes or removes a stream', async (role) => {
    for (const subject of ofStreams)
      expect(await refusal(role, (nc) => nc.publish(subject, '{}'))).toBe(`publish ${subject}`);
  });

  // A consumer that pushes to a subject of a stream or of JetStream is one that nobody takes from.
  it('that ingress writes what it may not by a watch that is delivered there', async () => {
    const bus = await connectBus(engines.nats.url, 'test');
    const system = await openKvBucket(bus, buckets.system);
    await system.put('admin_tokens', 'those of metadata');
    const nc = await open('ingress');
    const key = `$KV.${buckets.columns}.columns.9`;
    await nc.request(key, '"mine"');
    for (const [name, to] of [
      ['a', `$KV.${buckets.system}.admin_tokens`],
      ['b', `$JS.API.STREAM.PURGE.KV_${buckets.system}`],
    ]) {
      const config = { name, deliver_subject: to, ack_policy: 'none', filter_subject: key };
      const body = JSON.stringify({ stream_name: `KV_${buckets.columns}`, config });
      const made = await nc.request(`$JS.API.CONSUMER.CREATE.KV_${buckets.columns}.${name}.${key}`, body);
      expect(made.json()).toMatchObject({ config: { deliver_subject: to } });
    }
    // A third one that is delivered says that the first two had their turn.
    const seen = nc.subscribe('_INBOX_ingress.c', { max: 1 });
    const config = {
      name: 'c',
      deliver_subject: '_INBOX_ingress.c',
      ack_policy: 'none',
      filter_subject: key,
    };
    await nc.request(
      `$JS.API.CONSUMER.CREATE.KV_${buckets.columns}.c.${key}`,
      JSON.stringify({ stream_name: `KV_${buckets.columns}`, config }),
    );
    for await (const message of seen) expect(message.string()).toBe('"mine"');
    expect((await system.get('admin_tokens'))?.value).toBe('those of metadata');
    await nc.close();
    await bus.close();
  });

  it.each<[NatsUserName, string]>([
    ['ingress', 'metrics.>'],
    ['ingress', '_INBOX_metadata.>'],
    ['ingress', '$KV.>'],
    ['transfer', '_INBOX_ingress.>'],
    ['transfer', 'traces.*'],
    ['metadata', '_INBOX_ingress.>'],
    ['metadata', '>'],
  ])('that %s subscribes to %s', async (role, subject) => {
    expect(await refusal(role, (nc) => nc.subscribe(subject))).toBe(`subscription ${subject}`);
  });

  // The filter of a consumer is in the subject of its request; a body with another one, or with none, widens nothing.
  it('that transfer watches other records than placements and purges, however it asks', async () => {
    const watch = (subject: string, config: object) => (nc: NatsConnection) =>
      nc.request(
        subject,
        JSON.stringify({
          stream_name: `KV_${buckets.records}`,
          config: { name: 'w', deliver_subject: '_INBOX_transfer.w', ack_policy: 'none', ...config },
        }),
      );
    const create = `$JS.API.CONSUMER.CREATE.KV_${buckets.records}`;
    for (const subject of [create, `${create}.w`, `${create}.w.$KV.${buckets.records}.>`])
      expect(await refusal('transfer', watch(subject, {}))).toBe(`publish ${subject}`);
    const nc = await open('transfer');
    const allowed = `${create}.w.$KV.${buckets.records}.purge.*`;
    for (const config of [{}, { filter_subject: recordSubject }, { filter_subjects: [recordSubject] }]) {
      const answer: { error?: { code: number } } = (await watch(allowed, config)(nc)).json();
      expect(answer.error?.code, JSON.stringify(config)).toBe(400);
    }
    await nc.close();
  });
});

it('ingress and transfer find streams and buckets, and change none', async () => {
  for (const role of ['ingress', 'transfer'] as const) {
    const bus = await connectBus(engines.asUser(engines.nats.url, role), role);
    const of = role === 'ingress' ? 'streams' : 'streams and consumers';
    expect([...(await findTopology(bus, pipelines.streams, of))]).toEqual([]);
    await findKvBucket(bus, buckets.system);
    expect(bus.refused).toBeUndefined();
    await expect(ensureTopology(bus, pipelines.streams)).rejects.toMatchObject({
      kind: 'permanent',
      code: 'nats_not_permitted',
      message: expect.stringContaining('may not publish to $JS.API.STREAM.NAMES'),
    });
    expect(bus.refused).toContain('$JS.API.STREAM.NAMES');
    await bus.close();
  }
});

it('a role waits for what metadata has not created yet, and names it', async () => {
  const bus = await connectBus(engines.asUser(engines.nats.url, 'ingress'), 'ingress');
  const missing = {
    kind: 'transient',
    code: 'stream_missing',
    message: expect.stringContaining('METRICS-b'),
  };
  const [first] = pipelines.streams;
  const further = pipelines.streams.slice(0, 1).map((stream) => ({ ...stream, name: 'METRICS-b' }));
  expect(first?.name).toBe('METRICS');
  await expect(findTopology(bus, further, 'streams')).rejects.toMatchObject(missing);
  const found = await findTopology(
    bus,
    further.map((each) => ({ ...each, isFurther: true as const })),
    'streams',
  );
  expect([...found]).toEqual([['METRICS-b', expect.objectContaining(missing)]]);
  await expect(findKvBucket(bus, buckets.rates)).rejects.toMatchObject({ code: 'bucket_missing' });
  await bus.close();
});

it('metadata makes the bucket of demands, also after a restart of NATS, and ingress writes and follows its demand in it', async () => {
  await using own = await startEngines({ nats: true });
  const [metadata, ingress] = [
    await connectBus(own.asUser(own.nats.url, 'metadata'), 'metadata'),
    await connectBus(own.asUser(own.nats.url, 'ingress'), 'ingress'),
  ];
  const keeper = keepFleetingBucket({
    ...{ bus: metadata, name: buckets.rates, limits: ratesLimits, everyMs: 50 },
    log: { info: () => {}, warn: () => {} },
  });
  const found = () => findKvBucket(ingress, buckets.rates);
  const exchange = async (): Promise<void> => {
    const bucket = await waitFor('the bucket', 60_000, found);
    const seen = new Promise<unknown>((resolve) => {
      const watch = bucket.watch(
        ({ value }) => {
          watch.stop();
          resolve(value);
        },
        () => {},
      );
    });
    await bucket.put(`${demandPrefix}one`, { tick: 1 });
    expect(await seen).toEqual({ tick: 1 });
    await bucket.delete(`${demandPrefix}one`);
  };
  await exchange();
  await own.nats.kill();
  await waitFor('the connections to be lost', 60_000, () => !metadata.connected && !ingress.connected);
  await own.nats.start();
  await waitFor('the connections', 60_000, () => metadata.connected && ingress.connected);
  await exchange();
  expect([metadata.refused, ingress.refused]).toEqual([undefined, undefined]);
  keeper.stop();
  await Promise.all([metadata.close(), ingress.close()]);
});

it('an operator begins the consumer of each queue again, and changes no bucket in memory', async () => {
  const bus = await connectBus(engines.asUser(engines.nats.url, 'operator'), 'operator');
  const queues = pipelines.streams.flatMap(({ name, consumer }) =>
    consumer === undefined ? [] : [`${name}.${consumer.name}`],
  );
  expect(queues).toContain('METRICS.questdb');
  for (const queue of queues) {
    const answer = await bus.nc.request(`$JS.API.CONSUMER.RESET.${queue}`, JSON.stringify({ seq: 1 }));
    expect(answer.json(), queue).not.toHaveProperty('error');
  }
  expect(bus.refused).toBeUndefined();
  await bus.close();
  for (const bucket of [buckets.rates, buckets.sessions]) {
    const subject = `$JS.API.STREAM.UPDATE.KV_${bucket}`;
    expect(await refusal('operator', (nc) => nc.publish(subject, '{}'))).toBe(`publish ${subject}`);
  }
});

it('an operator copies every stream and every record, and restores them elsewhere', async () => {
  const folder = await tempFolder();
  const from = await connectBus(engines.asUser(engines.nats.url, 'operator'), 'operator');
  const copied = await takeBackup(from, pipelines, join(folder, 'nats'), () => {});
  expect(copied.map(({ stream }) => stream)).toEqual(
    expect.arrayContaining(['METRICS', 'TRACES', 'LEDGER', `KV_${buckets.records}`]),
  );
  expect(from.refused).toBeUndefined();
  await from.close();
  await using elsewhere = await startEngines({ nats: true });
  const to = await connectBus(elsewhere.asUser(elsewhere.nats.url, 'operator'), 'operator');
  await putBack(to, join(folder, 'nats'), () => {});
  const records = await findKvBucket(to, buckets.records);
  expect((await records.get(record))?.value).toEqual({ token: 'secret' });
  expect(to.refused).toBeUndefined();
  await to.close();
});

/** A role with the user of another one. */
const startAs = async (name: RoleName, other: RoleName) => {
  const ports = await takePorts(4);
  const [opsPort = 0, push, otlp, api] = ports;
  const lines: string[] = [];
  const role = createRole({
    name,
    host: '127.0.0.1',
    ports: [],
    opsPort,
    env: {
      PATH: process.env['PATH'],
      TIDEMARK_DATA: join(engines.folder, `${name}-data`),
      TIDEMARK_NATS_URL: engines.asUser(engines.nats.url, other),
      TIDEMARK_QUESTDB_URL: 'http://127.0.0.1:1',
      TIDEMARK_CLICKHOUSE_URL: 'http://127.0.0.1:1',
      TIDEMARK_INGRESS_PUSH_PORT: String(push),
      TIDEMARK_INGRESS_OTLP_PORT: String(otlp),
      TIDEMARK_INGRESS_GRPC_PORT: 'off',
      TIDEMARK_METADATA_API_PORT: String(api),
      [`TIDEMARK_${name.toUpperCase()}_OPS_PORT`]: String(opsPort),
    },
    log: (_, line) => lines.push(line),
  });
  onTestFinished(() => role.kill());
  const started = role.start().catch((error: unknown) => error);
  return { role, lines, started };
};

it.each<[RoleName, RoleName, string]>([
  ['ingress', 'transfer', '$JS.API.STREAM.INFO.KV_tidemark-columns'],
  ['transfer', 'ingress', '$JS.API.CONSUMER.INFO.METRICS.questdb'],
])('%s with the user of %s is not ready, and names what it may not do', async (name, other, subject) => {
  const { role } = await startAs(name, other);
  const why = `the user of NATS may not publish to ${subject}: give it the rights of its role`;
  await waitFor(`it says ${why}`, 60_000, () => role.notReady()?.includes(why));
});

it('metadata with the user of ingress ends, and names what it may not do', async () => {
  const { lines, started } = await startAs('metadata', 'ingress');
  expect(await started).toBeInstanceOf(Error);
  expect(lines.join('\n')).toContain('the user of NATS may not publish to $JS.API.STREAM.NAMES');
});
