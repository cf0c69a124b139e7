import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createVisitor } from '../support/console/visitor.ts';
import {
  type Checkout,
  type ComposeStack,
  composeStack,
  earlierCheckout,
  engineServices,
  hasRevision,
  healthOf,
  lastWords,
  makePasswords,
  type Ports,
  presentCheckout,
  roleServices,
  type ServiceName,
  services,
  sizeOf,
  takeComposePorts,
} from '../support/containers/compose-stack.ts';
import { docker, firstProcessOf, inspected } from '../support/containers/docker.ts';
import {
  clickhouseNumber,
  type Producer,
  questdbNumber,
  startProducer,
} from '../support/containers/sender.ts';
import { imagesOfRun, isStandIn } from '../support/containers/stand-ins.ts';
import { waitFor } from '../support/wait.ts';

/** The version that the stack is upgraded from. */
const earlierRevision = process.env['TIDEMARK_TEST_UPGRADE_FROM'] ?? '1975a7e';
const command = z
  .array(z.string())
  .parse(JSON.parse(process.env['TIDEMARK_TEST_COMPOSE'] ?? '["docker","compose"]'));
const hasEarlier = await hasRevision(earlierRevision);

const report = z.object({
  data_source: z.object({ mon_data_id: z.number(), token: z.string() }),
  result_table: z.object({ table_id: z.string() }),
});
const accounts = z.object({
  items: z.array(
    z.object({
      received: z.number(),
      stored: z.number(),
      lost: z.number(),
      dead_lettered: z.number(),
      in_flight: z.number(),
      adds_up: z.boolean().nullable(),
    }),
  ),
});
type Account = z.output<typeof accounts>['items'][number];
const application = z.object({ application: z.object({ app_id: z.number(), token: z.string() }) });

let folder: string;
let ports: Ports;
let present: Checkout;
let earlier: Checkout | undefined;
/** The stack of the version that runs. */
let stack: ComposeStack;
let producer: Producer;
let owners: { dataId: number; table: string; appId: number };

const say = (line: string): void => {
  process.stdout.write(`  ${line}\n`);
};

const untilHealthy = async (names: readonly ServiceName[] = services): Promise<void> => {
  for (const name of names) {
    await waitFor(`${name} is healthy`, 180_000, async () => {
      const health = await healthOf(await stack.container(name));
      if (health !== 'healthy') throw new Error(health);
      return true;
    });
  }
};

/** A failed step names what the containers wrote. */
const told = async (step: () => Promise<void>): Promise<void> => {
  try {
    await step();
  } catch (error) {
    say(await lastWords(stack));
    throw error;
  }
};

/** Ends with 0 where NATS admits the user `new`. */
const newUser = `import('@nats-io/transport-node').then(async ({ connect }) => {
  const nc = await connect({ servers: 'nats:4222', user: 'new', pass: 'new-word', reconnect: false });
  await nc.close();
})`;

const doctorLine = ['doctor', '--push-url', 'http://ingress:10205', '--otlp-url', 'http://ingress:4318'];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-compose-'));
  ports = await takeComposePorts();
  present = presentCheckout(join(folder, 'present'));
  if (hasEarlier) earlier = await earlierCheckout(join(folder, 'earlier'), earlierRevision);
  const first = earlier ?? present;
  await makePasswords(first);
  if (first !== present) await makePasswords(present, first);
  stack = composeStack(command, first, ports);
  for (const [name, image] of Object.entries(imagesOfRun()))
    say(`${name}: ${isStandIn(image) ? `stand-in ${image}` : `official image ${image}`}`);
});
afterAll(async () => {
  await producer?.stop().catch(() => {});
  await stack?.compose('down', '--volumes', '--timeout', '10');
  rmSync(folder, { recursive: true, force: true });
});

describe('the image of deploy/Dockerfile', () => {
  it('builds, and holds no package for development', async () => {
    await composeStack(command, present, ports).compose('build', 'migrate');
    say(`the image has ${((await sizeOf(present.image)) / 2 ** 20).toFixed(0)} MiB, with the base`);
    const own = (await docker('history', '--format', '{{.Size}}', '--human=false', present.image))
      .split('\n')
      .map(Number)
      .reduce((sum, bytes) => sum + bytes, 0);
    const base = await sizeOf(imagesOfRun().node);
    say(`of these ${((own - base) / 2 ** 20).toFixed(0)} MiB are its own`);
    const packages = await docker(
      'run',
      '--rm',
      '--network',
      'none',
      '--entrypoint',
      'ls',
      present.image,
      'node_modules',
    );
    expect(packages.split('\n')).toContain('hono');
    expect(packages.split('\n')).not.toContain('vitest');
    expect(packages.split('\n')).not.toContain('@chdb');
    // The base has Node's own; this program is at most 60 MiB beside it.
    expect(own - base).toBeLessThan(60 * 2 ** 20);
  });

  it('runs as a user without rights and without one capability, on a root that it cannot write', async () => {
    const confined = [
      '--read-only',
      '--cap-drop',
      'ALL',
      '--security-opt',
      'no-new-privileges:true',
      '--network',
      'none',
    ];
    const inside = (...args: readonly string[]): Promise<string> =>
      docker('run', '--rm', ...confined, '--entrypoint', 'sh', present.image, '-c', args.join(' '));
    expect(await inside('id -u; id -g')).toBe('65532\n65532');
    expect(
      await inside('grep -E "^Cap(Prm|Eff|Bnd|Amb)" /proc/self/status | grep -vc 0000000000000000; true'),
    ).toBe('0');
    expect(await inside('touch /app/written 2>&1; true')).toMatch(/Read-only file system/);
    expect(
      await docker('run', '--rm', ...confined, present.image, 'explain', 'timestamp_unit_seconds'),
    ).toMatch(/milliseconds/);
  });
});

describe('the compose stack', () => {
  it('does not start without its passwords', async () => {
    const bare = presentCheckout(join(folder, 'bare'));
    await expect(composeStack(command, bare, ports).compose('config', '--quiet')).rejects.toThrow(
      /passwords\.sh/,
    );
  });

  it('becomes healthy, and stores what a producer sends', async () => {
    await stack.compose('build', 'migrate');
    await stack.compose('up', '--detach', ...services);
    await told(() => untilHealthy());
    const created = report.parse(
      JSON.parse(await stack.tidemark('report', 'create', '--biz', '2', '--name', 'containers', '--json')),
    );
    const { application: app } = application.parse(
      JSON.parse(await stack.tidemark('app', 'create', '--biz', '2', '--name', 'containers', '--json')),
    );
    owners = {
      dataId: created.data_source.mon_data_id,
      table: created.result_table.table_id,
      appId: app.app_id,
    };
    // No limit of requests: what is tested is that none is lost.
    for (const id of [owners.dataId, owners.appId])
      await stack.tidemark('limit', 'set', String(id), '--max-rate', '0');
    producer = startProducer({
      pushUrl: `http://127.0.0.1:${ports.push}`,
      otlpUrl: `http://127.0.0.1:${ports.otlp}`,
      dataId: owners.dataId,
      pushToken: created.data_source.token,
      writeToken: app.token,
    });
    await told(() => producer.more(20));
  });

  it.skipIf(!hasEarlier)(
    'is upgraded from the image and the compose file of an earlier version in the documented order, under load',
    async () => {
      const before = await Promise.all(roleServices.map((name) => stack.container(name)));
      stack = composeStack(command, present, ports);
      await told(async () => {
        await stack.compose('up', '--detach', '--no-deps', ...engineServices);
        await untilHealthy(engineServices);
        await stack.compose('up', '--detach', '--no-deps', 'migrate');
        await waitFor('the tables are migrated', 120_000, async () =>
          /^exited 0$/.test(
            await inspected(await stack.container('migrate'), '.State.Status}} {{.State.ExitCode'),
          ),
        );
        // Where the version has a further stream, transfer is ready once metadata has made it.
        for (const names of [['transfer'], ['metadata', 'transfer'], ['ingress']] as const) {
          await stack.compose('up', '--detach', '--no-deps', ...names);
          if (names[0] !== 'transfer') await untilHealthy(names);
        }
        await producer.more(20);
      });
      const after = await Promise.all(roleServices.map((name) => stack.container(name)));
      expect(after.filter((id) => before.includes(id))).toEqual([]);
      for (const id of after) expect(await inspected(id, '.Config.Image')).toBe(present.image);
    },
  );

  it('confines every container as the file says', async () => {
    for (const name of services) {
      const id = await stack.container(name);
      expect(await inspected(id, '.HostConfig.CapDrop'), name).toBe('[ALL]');
      expect(await inspected(id, '.HostConfig.SecurityOpt'), name).toBe('[no-new-privileges:true]');
    }
    for (const name of roleServices) {
      const status = await stack.compose('exec', '-T', name, 'cat', '/proc/1/status');
      expect(
        status.match(/^(Uid|CapEff|CapBnd|NoNewPrivs):\s+(\S+)/gm)?.map((line) => line.split(/\s+/)),
        name,
      ).toEqual([
        ['Uid:', '65532'],
        ['CapEff:', '0000000000000000'],
        ['CapBnd:', '0000000000000000'],
        ['NoNewPrivs:', '1'],
      ]);
      await expect(stack.compose('exec', '-T', name, 'touch', '/app/written'), name).rejects.toThrow(
        /Read-only/,
      );
    }
    // The server itself runs without the rights that its entry point has.
    for (const name of ['questdb', 'clickhouse']) {
      const status = await stack.compose('exec', '-T', name, 'cat', '/proc/1/status');
      expect(/^Uid:\s+(\d+)/m.exec(status)?.[1], name).not.toBe('0');
      expect(/^CapEff:\s+(\S+)/m.exec(status)?.[1], name).toBe('0000000000000000');
    }
  });

  it('logs in to the console on this machine, by the link that it prints', async () => {
    const { url } = z
      .object({ url: z.string() })
      .parse(JSON.parse(await stack.tidemark('console', '--json')));
    const code = new URL(url).hash.slice(1);
    const visitor = createVisitor(`http://127.0.0.1:${ports.admin}`);
    expect(await visitor.logIn({ code })).toMatchObject({ status: 200 });
    expect(await visitor.ask('GET', '/console/session')).toMatchObject({ status: 200 });
    const elsewhere = { host: 'tidemark.example' };
    expect(await visitor.ask('POST', '/console/session', { code }, elsewhere)).toMatchObject({
      status: 403,
      body: { code: 'transport_open' },
    });
  });

  it('gives NATS the users of a new users.conf by a reload, as after `git pull`', async () => {
    await told(async () => {
      const path = join(present.folder, 'deploy/nats/users.conf');
      const written = readFileSync(path, 'utf8');
      const replace = async (text: string): Promise<void> => {
        // As git does: another file under the same name.
        writeFileSync(`${path}.new`, text);
        renameSync(`${path}.new`, path);
        // A signal by Docker itself would end the restart policy of the container.
        await stack.compose('exec', '-T', 'nats', 'nats-server', '--signal', 'reload=1');
      };
      const login = (): Promise<string> => stack.compose('exec', '-T', 'metadata', 'node', '-e', newUser);
      await expect(login()).rejects.toThrow(/Authorization Violation/);
      await replace(written.replace('users: [', 'users: [\n    { user: "new", password: "new-word" }'));
      await waitFor('the new user is admitted', 20_000, login);
      await replace(written);
      await waitFor('the new user is gone', 20_000, async () =>
        login().then(
          () => false,
          (error) => /Authorization Violation/.test(String(error)),
        ),
      );
    });
  });

  // The users of NATS refuse it: it lives, and takes nothing.
  it('has no healthy ingress that takes nothing, and `up --wait` says so', async () => {
    const file = join(present.folder, 'deploy/.env');
    const written = readFileSync(file, 'utf8');
    const up = (): Promise<string> =>
      stack.compose('up', '--detach', '--no-deps', '--wait', '--wait-timeout', '180', 'ingress');
    await told(async () => {
      try {
        writeFileSync(file, written.replace(stack.secret('NATS_INGRESS_PASSWORD'), 'wrong'));
        await expect(up()).rejects.toThrow(/unhealthy/);
      } finally {
        writeFileSync(file, written);
        await up();
      }
      await producer.more(10);
    });
  });

  it('passes its doctor from inside', async () => {
    await told(async () => {
      expect(await stack.tidemark(...doctorLine)).not.toContain('NOT OK');
    });
  });

  it.each(services)('goes on after %s was killed: its own policy starts it again', async (name) => {
    await told(async () => {
      const id = await stack.container(name);
      const restarts = Number(await inspected(id, '.RestartCount'));
      process.kill(firstProcessOf(id), 'SIGKILL');
      await waitFor(`${name} is started again`, 60_000, async () => {
        const count = Number(await inspected(id, '.RestartCount'));
        return count > restarts;
      });
      await untilHealthy();
      await producer.more(10);
    });
  });

  it('runs two transfers beside each other, each with a port of its own, and one again', async () => {
    const scale = (count: number) =>
      stack.compose('up', '--detach', '--no-deps', '--scale', `transfer=${count}`, 'transfer');
    await told(async () => {
      try {
        await scale(2);
        const ids = (await stack.container('transfer')).split('\n');
        expect(ids).toHaveLength(2);
        await waitFor('both are healthy', 180_000, async () =>
          (await Promise.all(ids.map(healthOf))).every((health) => health === 'healthy'),
        );
        const addresses = await Promise.all(
          [1, 2].map((index) => stack.compose('port', '--index', String(index), 'transfer', '10311')),
        );
        expect(new Set(addresses).size).toBe(2);
        for (const address of addresses) expect((await fetch(`http://${address}/readyz`)).status).toBe(200);
        await producer.more(10);
      } finally {
        await scale(1);
      }
      await untilHealthy();
    });
  });

  it('goes on after all containers were restarted', async () => {
    await told(async () => {
      await stack.compose('restart', ...services);
      await untilHealthy();
      await producer.more(20);
    });
  });

  it('has stored every acknowledged point and span once, by SQL and by its own account', async () => {
    await told(async () => {
      await producer.stop();
      const { points, spans, requests, retries } = producer.books;
      const questdb = `http://tidemark:${stack.secret('QUESTDB_PASSWORD')}@127.0.0.1:${ports.questdb}`;
      const clickhouse = `http://tidemark:${stack.secret('CLICKHOUSE_PASSWORD')}@127.0.0.1:${ports.clickhouse}`;
      const { table, appId, dataId } = owners;
      const traces = `otel.otel_traces WHERE AppId = ${appId}`;
      const account = async (option: string, id: number): Promise<Account> => {
        const answer = accounts.parse(
          JSON.parse(await stack.tidemark('ledger', option, String(id), '--json')),
        );
        const [own] = answer.items;
        if (own === undefined) throw new Error(`the account of ${id} is not there yet`);
        return own;
      };
      const readAccounts = (): Promise<Account[]> =>
        Promise.all([account('--data-id', dataId), account('--app-id', appId)]);
      await waitFor('nothing is on its way', 240_000, async () => {
        const open = await questdbNumber(
          questdb,
          'SELECT count() FROM wal_tables() WHERE sequencerTxn != writerTxn',
        );
        const all = await readAccounts();
        if (open > 0 || all.some(({ in_flight, adds_up }) => in_flight > 0 || adds_up !== true))
          throw new Error(JSON.stringify(all));
        return true;
      });
      const accountOf = (items: number) => ({ received: items, stored: items, lost: 0, dead_lettered: 0 });
      expect(await readAccounts()).toMatchObject([accountOf(points), accountOf(spans)]);
      expect({
        points: await questdbNumber(questdb, `SELECT count() FROM "${table}"`),
        values: await questdbNumber(questdb, `SELECT count_distinct(number) FROM "${table}"`),
        spans: await clickhouseNumber(clickhouse, `SELECT count() FROM ${traces}`),
        ids: await clickhouseNumber(clickhouse, `SELECT uniqExact(TraceId, SpanId) FROM ${traces}`),
      }).toEqual({ points, values: points, spans, ids: spans });
      say(
        `${points} points and ${spans} spans acknowledged in ${requests} requests, ${retries} of them sent again: all stored once`,
      );
    });
  });

  it('passes its doctor again, and every role ends by itself when it is stopped', async () => {
    await told(async () => {
      expect(await stack.tidemark(...doctorLine)).not.toContain('NOT OK');
      await stack.compose('stop');
      const codes = await Promise.all(
        roleServices.map(async (name) => inspected(await stack.container(name), '.State.ExitCode')),
      );
      expect(codes).toEqual(['0', '0', '0']);
    });
  });
});
