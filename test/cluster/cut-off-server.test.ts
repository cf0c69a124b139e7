import { expect, it, onTestFinished } from 'vitest';
import { connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { Fault } from '../../src/model/fault.ts';
import { createNatsCluster, type ServerPorts } from '../support/stack/nats-cluster.ts';
import { takePorts } from '../support/stack/ports.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import { until } from '../support/until.ts';

it('a server that led a bucket when it was cut off from its cluster still answers reads, and within seconds no more as its leader', async () => {
  const folder = await tempFolder();
  const ports = await takePorts(9);
  const servers = [0, 3, 6].map((at): ServerPorts => {
    const [client = 0, monitor = 0, route = 0] = ports.slice(at);
    return { client, monitor, route };
  });
  const cluster = createNatsCluster(folder, servers, () => {});
  onTestFinished(cluster.end);
  await cluster.start();
  const maker = await connectBus(cluster.servers[0]?.url ?? '', 'test');
  await until('the bucket is made', () =>
    openKvBucket({ ...maker, replicas: 3 }, 'cut-off').catch(() => undefined),
  );
  await maker.close();
  const alone = await until('a server leads', async () => {
    const index = await cluster.leaderOf('KV_cut-off');
    return index === undefined ? undefined : cluster.servers[index];
  });
  const others = cluster.servers.filter((server) => server !== alone);
  const bus = await connectBus(alone.url, 'test');
  onTestFinished(() => bus.close());
  const bucket = await openKvBucket(bus, 'cut-off');
  await bucket.put('key', 'before');
  await bucket.askLeader();
  await until('the copy has it', async () => (await bucket.get('key'))?.value === 'before');
  await Promise.all(others.map((server) => server.kill()));
  await until('no server leads', () =>
    bucket.askLeader().then(
      () => false,
      (error: unknown) => error instanceof Fault && error.code === 'bucket_leaderless',
    ),
  );
  // By the silence of the others: it has not stepped down yet.
  expect((await (await bus.manager()).streams.info('KV_cut-off')).cluster?.leader).toBeDefined();
  expect((await bucket.get('key'))?.value).toBe('before');
  await until('it has stepped down', async () => {
    const { cluster: found } = await (await bus.manager()).streams.info('KV_cut-off');
    return found?.leader === undefined;
  });
  expect((await bucket.get('key'))?.value).toBe('before');
  await expect(bucket.askLeader()).rejects.toMatchObject({ kind: 'transient' });
  await Promise.all(others.map((server) => server.start()));
  await until('a server leads again', () =>
    bucket.askLeader().then(
      () => true,
      () => false,
    ),
  );
});
