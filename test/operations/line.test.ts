import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Bus, connectBus } from '../../src/bus/connection.ts';
import { troubleKinds } from '../../src/metadata/pulse/troubles.ts';
import { createCli } from '../support/clients/cli.ts';
import { type MetadataRole, startMetadataRole } from '../support/metadata/role.ts';
import { plantDeadLetters } from '../support/outcomes/dead-letters.ts';
import { type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

let stack: Stack;
let second: MetadataRole;
let report: Report;
let bus: Bus;

const cli = createCli(() => ({ PATH: process.env['PATH'], ...stack.env }));

beforeAll(async () => {
  stack = await startStack({ traces: true });
  second = await startMetadataRole(stack.engines, 'second', {
    TIDEMARK_PIPELINES: stack.env['TIDEMARK_PIPELINES'],
  });
  report = await stack.createReport('line');
  bus = await connectBus(stack.engines.nats.url, 'test');
});
afterAll(async () => {
  await bus?.close();
  await second?.role.stop();
  await stack?.stop();
});

const lineSchema = z.object({
  troubles: z.array(z.looseObject({ code: z.string(), text: z.string() })),
  totals: z.record(z.string(), z.number()),
  edges: z.array(
    z.object({
      from: z.string(),
      to: z.string(),
      items_per_second: z.number().nullable(),
      bytes_per_second: z.number().nullable(),
    }),
  ),
  streams: z.array(z.looseObject({ stream: z.string(), messages: z.number(), pending: z.number() })),
  stores: z.array(z.looseObject({ store: z.string(), ready: z.boolean().nullable() })),
  processes: z.array(z.looseObject({ role: z.string(), state: z.string(), pid: z.number() })),
  account: z
    .looseObject({
      until: z.number(),
      metrics: z.record(z.string(), z.number()),
      adds_up: z.boolean().nullable(),
    })
    .nullable(),
});
type Line = z.output<typeof lineSchema>;

const firstUrl = (): string => `http://127.0.0.1:${stack.metadata.ports['api']}`;
const urls = (): [string, string] => [firstUrl(), second.url];

const ask = (url: string, path: string, token: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}${path}`, { ...init, headers: { Authorization: `Bearer ${token}` } });

const lineAt = async (url: string): Promise<Line> =>
  lineSchema.parse(await (await ask(url, '/api/v1/line', stack.adminToken())).json());

const point = { metrics: { cpu: 1 }, target: 'a' };

const push = async (data: readonly unknown[], source = report.data_source): Promise<number> => {
  const { mon_data_id: dataId, token } = source;
  const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
    method: 'POST',
    body: JSON.stringify({ data_id: dataId, access_token: token, data }),
  });
  await response.text();
  return response.status;
};

/** Pushes again and again until `done`. */
const pushUntil = async <T>(what: string, done: () => Promise<T | undefined | false>): Promise<T> =>
  waitFor(what, 60_000, async () => {
    expect(await push([point, point])).toBe(200);
    return done();
  });

type Event = { readonly event: string; readonly data: unknown };

/** The events of a live view as they come; `ended` resolves with its end. */
const listen = async (url: string, topics: string, token: string) => {
  const ending = new AbortController();
  const response = await ask(url, `/api/v1/live?topics=${topics}`, token, { signal: ending.signal });
  if (response.status !== 200) throw new Error(await response.text());
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  let text = '';
  const read = async (): Promise<void> => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString();
  };
  const ended = read();
  const events = (name: string): unknown[] =>
    text
      .split('\n\n')
      .flatMap((block): Event[] => {
        const [, event, json] = /^id: \d+\nevent: (\w+)\ndata: (.*)$/.exec(block) ?? [];
        return event === undefined || json === undefined ? [] : [{ event, data: JSON.parse(json) }];
      })
      .filter(({ event }) => event === name)
      .map(({ data }) => data);
  const close = async (): Promise<void> => {
    ending.abort();
    await ended.catch(() => undefined);
  };
  return { events, ended, close };
};

const newToken = async (role: string): Promise<{ id: number; token: string }> => {
  const { body } = await stack.api('POST', '/api/v1/admin-tokens', { name: role, role });
  const issued = z.object({ token: z.string(), admin_token: z.object({ token_id: z.number() }) }).parse(body);
  return { id: issued.admin_token.token_id, token: issued.token };
};

const itemsOn = ({ edges }: Line, from: string, to: string): number =>
  edges.find((edge) => edge.from === from && edge.to === to)?.items_per_second ?? 0;

const connectionsSchema = z.object({
  // The one that asks has no name.
  connections: z.array(z.object({ name: z.string().default(''), authorized_user: z.string().default('') })),
});

// NATS would let the tests' own user do everything: these roles would prove no right.
it('each role is its own user of NATS', async () => {
  const answer = await stack.engines.askNats('CONNZ', { auth: true });
  const { connections } = connectionsSchema.parse(answer);
  const users = new Set(connections.map(({ name, authorized_user: user }) => `${name} ${user}`));
  for (const role of ['ingress', 'transfer', 'metadata']) {
    expect(users).toContain(`tidemark-${role} ${role}`);
    expect([...users].filter((each) => each.startsWith(`tidemark-${role} `))).toHaveLength(1);
  }
});

describe('the line', () => {
  it('has the entries of the runbook that its troubles name, for a viewer too', async () => {
    const [url = ''] = urls();
    const { token } = await newToken('viewer');
    const listed = await ask(url, '/api/v1/runbook', token);
    const { items } = z
      .object({ items: z.array(z.object({ name: z.string(), title: z.string() })) })
      .parse(await listed.json());
    const named = Object.values(troubleKinds).map(({ runbook }) => runbook.toLowerCase());
    expect(items.map(({ name }) => name)).toEqual(expect.arrayContaining(named));
    for (const name of new Set(named)) {
      const answer = await ask(url, `/api/v1/runbook/${name}`, token);
      expect(await answer.json()).toMatchObject({ name, text: expect.stringContaining('**What to do.**') });
    }
    expect((await ask(url, '/api/v1/runbook/tidemarknothing', token)).status).toBe(404);
  });

  it('has every process on both metadata processes, all ready, and the stores', async () => {
    for (const url of urls()) {
      const line = await waitFor('four ready processes and the state of ClickHouse', 60_000, async () => {
        const now = await lineAt(url);
        const isReady = now.processes.length === 4 && now.processes.every(({ state }) => state === 'ready');
        return isReady && now.stores.every(({ ready }) => ready === true) && now;
      });
      expect(line.processes.map(({ role }) => role)).toEqual(['ingress', 'metadata', 'metadata', 'transfer']);
      expect(line.processes.map(({ pid }) => pid)).toContain(stack.transfer[0]?.pid);
    }
  });

  it('shows items on its edges while they are pushed, live, and in the account of the hour', async () => {
    const live = await listen(second.url, 'line', stack.adminToken());
    try {
      await pushUntil('rates on the whole way of a point', async () => {
        const lines = live.events('line').map((data) => lineSchema.parse(data));
        return (
          lines.some((line) => itemsOn(line, 'producers:metrics', 'receiver:push') > 0) &&
          lines.some((line) => itemsOn(line, 'receiver:push', 'stream:METRICS') > 0) &&
          lines.some((line) => itemsOn(line, 'stream:METRICS', 'transfer:metrics') > 0) &&
          lines.some((line) => itemsOn(line, 'transfer:metrics', 'store:questdb:default') > 0)
        );
      });
    } finally {
      await live.close();
    }
    await stack.waitForEmptyStream('METRICS');
    const { account } = await waitFor('the account of the hour, with what was pushed', 90_000, async () => {
      const now = await lineAt(firstUrl());
      return (now.account?.metrics['stored'] ?? 0) > 0 && now.account?.adds_up === true && now;
    });
    const { received = 0, ...terms } = account?.metrics ?? {};
    expect(received).toBe(Object.values(terms).reduce((sum, items) => sum + items, 0));
  });

  // The line and the ledger of all owners stand side by side on one page.
  it('leaves out the trials of doctor, as the ledger of all owners does', async () => {
    const trials = await stack.createReport('tidemark_doctor');
    expect(await push([point, point, point], trials.data_source)).toBe(200);
    const ledger = z.object({ items: z.array(z.object({ data_id: z.number(), received: z.number() })) });
    const trialId = trials.data_source.mon_data_id;
    const receivedIn = async (query: string): Promise<number> =>
      ledger
        .parse((await stack.api('GET', `/api/v1/outcomes?${query}`)).body)
        .items.reduce((sum, { data_id: id, received }) => sum + (id === 0 ? 0 : received), 0);
    await waitFor(
      'the trials in the ledger',
      60_000,
      async () => (await receivedIn(`data_id=${trialId}`)) === 3,
    );
    const begin = Date.now() / 1000;
    const { account } = await waitFor('an account that was read since', 90_000, async () => {
      const now = await lineAt(firstUrl());
      return (now.account?.until ?? 0) > begin && now;
    });
    expect(account?.metrics['received']).toBe(await receivedIn(''));
    expect(await receivedIn('system=true')).toBe((account?.metrics['received'] ?? 0) + 3);
  });

  it('has the rates of each second of a process', async () => {
    const { items } = z
      .object({
        items: z.array(
          z.looseObject({
            role: z.string(),
            series: z.looseObject({ items_per_second: z.array(z.number().nullable()) }),
          }),
        ),
      })
      .parse((await stack.api('GET', '/api/v1/processes')).body);
    const ingress = items.find(({ role }) => role === 'ingress')?.series.items_per_second ?? [];
    expect(ingress).toHaveLength(120);
    expect(ingress.some((rate) => rate !== null && rate > 0)).toBe(true);
  });

  // A client of NATS can publish anything.
  it('ignores and counts what is published as a pulse and is none', async () => {
    const id = '0123456789abcdef';
    for (const [subject, text] of [
      [`pulse.ingress.${id}`, 'garbage'],
      [`pulse.ingress.${id}`, '{"version":"1"}'],
      [`pulse.nobody.${id}`, '{}'],
      ['pulse.ingress.\u001b[31m', '{}'],
    ] as const)
      bus.nc.publish(subject, text);
    await waitFor('four ignored pulses', 60_000, async () =>
      /tidemark_metadata_pulses_ignored_total\{why="malformed",role="metadata"\} 4$/m.test(
        await stack.metadata.metrics(),
      ),
    );
    const { processes } = await lineAt(firstUrl());
    expect(processes).toHaveLength(4);
  });
});

describe('the live view', () => {
  it('shows the drops of an owner as they happen', async () => {
    const { mon_data_id: dataId } = report.data_source;
    const own = await listen(firstUrl(), `drops:${dataId}`, stack.adminToken());
    const other = await listen(second.url, 'drops:1999999', stack.adminToken());
    try {
      expect(await push([point, { metrics: { cpu: 'high' }, target: 'a' }])).toBe(200);
      await waitFor('the drop', 60_000, () => own.events('drops').length > 0);
      expect(own.events('drops')).toMatchObject([
        { data_id: dataId, items: [{ reason: 'metric_value_invalid' }], skipped: 0 },
      ]);
      expect(other.events('drops')).toEqual([]);
    } finally {
      await own.close();
      await other.close();
    }
  });

  it('shows the progress of a redrive that another metadata process runs', async () => {
    await plantDeadLetters(bus, 3);
    const live = await listen(second.url, 'dead_letters', stack.adminToken());
    try {
      const { status } = await stack.api('POST', '/api/v1/dead-letters/purge', { all: true, dry_run: true });
      expect(status).toBe(200);
      const acts = z.object({ acts: z.array(z.looseObject({ has_ended: z.boolean() })) });
      const ended = await waitFor('the end of the purge', 60_000, () =>
        live
          .events('dead_letters')
          .flatMap((event) => acts.parse(event).acts)
          .find((act) => act.has_ended),
      );
      expect(ended).toMatchObject({ act: 'purge', dry_run: true, matched: 3, done: 3, failed: 0 });
      // It would read like a purge.
      const audited = await stack.api('GET', '/api/v1/audit?action=dead_letter.purge');
      expect(audited.body).toMatchObject({ items: [] });
    } finally {
      await live.close();
      await stack.api('POST', '/api/v1/dead-letters/purge', { all: true });
    }
  });

  it('ends on both metadata processes when its token is revoked', async () => {
    const { id, token } = await newToken('viewer');
    const readers = await Promise.all(urls().map((url) => listen(url, 'line', token)));
    expect((await stack.api('POST', `/api/v1/admin-tokens/${id}/revoke`, {})).status).toBe(200);
    const revokedAt = performance.now();
    await Promise.all(readers.map(({ ended }) => ended));
    // A second, and five times that on a busy machine.
    expect(performance.now() - revokedAt).toBeLessThan(5_000);
    expect((await ask(firstUrl(), '/api/v1/live?topics=line', token)).status).toBe(401);
  });

  it('is for viewers, answers HEAD without a stream, and names a wrong topic', async () => {
    const { token } = await newToken('node');
    expect((await ask(firstUrl(), '/api/v1/live?topics=line', token)).status).toBe(403);
    const head = await ask(firstUrl(), '/api/v1/live?topics=line', stack.adminToken(), { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([
      200,
      'text/event-stream',
      '',
    ]);
    for (const query of ['', '?topics=', '?topics=lines', '?topics=line&topics=drops'])
      expect(await stack.api('GET', `/api/v1/live${query}`)).toMatchObject({
        status: 422,
        body: { code: 'invalid_value', field: 'topics' },
      });
  });

  it('refuses a reader beyond 64, and admits one where another has left', async () => {
    const readers: Awaited<ReturnType<typeof listen>>[] = [];
    try {
      // The places of earlier readers are free once a write to them has failed.
      while (readers.length < 64)
        readers.push(
          await waitFor('a place', 60_000, () => listen(firstUrl(), 'dead_letters', stack.adminToken())),
        );
      const refused = await ask(firstUrl(), '/api/v1/live?topics=line', stack.adminToken());
      expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toMatchObject([
        503,
        '2',
        { code: 'too_many_readers' },
      ]);
      await readers[0]?.close();
      await waitFor('a place', 60_000, async () => {
        const next = await ask(firstUrl(), '/api/v1/live?topics=line', stack.adminToken());
        await next.body?.cancel();
        return next.status === 200;
      });
    } finally {
      await Promise.all(readers.map(({ close }) => close()));
    }
  });
});

describe('the commands', () => {
  it('show the line once, and as JSON', async () => {
    const text = await cli.text('top --once');
    expect(text).toMatch(/^the last hour adds up$/m);
    expect(text).toMatch(/^push → METRICS +\d/m);
    expect(text).toMatch(/^METRICS +0\.0% /m);
    expect(text).toMatch(/^QuestDB default +ready$/m);
    expect(text).toMatch(/^transfer .*:\d+ +ready /m);
    // Where the output is no terminal nothing is drawn over.
    expect(await cli.text('top')).not.toContain('\u001b');
    expect((await cli.json(lineSchema, 'top --once')).processes).toHaveLength(4);
    expect(await cli.text('processes')).toMatch(/^ingress .*:\d+ +ready /m);
    expect((await cli.json(z.object({ items: z.array(z.unknown()) }), 'processes')).items).toHaveLength(4);
  });

  it('top --json is a line of JSON each second, and continues after a restart of metadata', async () => {
    const child = spawn(new URL('../../bin/tidemark', import.meta.url).pathname, ['top', '--json'], {
      env: { PATH: process.env['PATH'], ...stack.env },
    });
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    const count = (): number => out.split('\n').length - 1;
    try {
      await waitFor('two lines', 60_000, () => count() >= 2);
      for (const line of out.split('\n').slice(0, -1)) lineSchema.parse(JSON.parse(line));
      await stack.metadata.stop();
      stack.metadata.start();
      await stack.metadata.ready();
      const before = count();
      await waitFor('further lines', 60_000, () => count() > before + 1);
    } finally {
      child.kill('SIGKILL');
    }
  });
});

// Of what came since, no book says anything: "adds up" would be a guess, and a loss in it would show nowhere.
describe('while transfer is stopped', () => {
  it('no account adds up, on every way to it, and all are known again once it continues', async () => {
    const owner = await stack.createReport('while transfer is stopped');
    const id = owner.data_source.mon_data_id;
    const shownSchema = z.object({
      not_known_since: z.number().nullable(),
      items: z.array(z.object({ received: z.number(), adds_up: z.boolean().nullable() })),
    });
    const shown = async () =>
      shownSchema.parse((await stack.api('GET', `/api/v1/outcomes?data_id=${id}`)).body);
    const isKnown = async (received: number): Promise<boolean> => {
      const { not_known_since: since, items } = await shown();
      return since === null && items[0]?.received === received && items[0].adds_up === true;
    };
    expect(await push([point], owner.data_source)).toBe(200);
    await waitFor('a known account', 120_000, () => isKnown(1));
    stack.transfer[0]?.signal('SIGSTOP');
    try {
      expect(await push([point, point], owner.data_source)).toBe(200);
      await waitFor(
        'the account is not known',
        120_000,
        async () => (await shown()).not_known_since !== null,
      );
      expect((await shown()).items).toEqual([{ received: 1, adds_up: null }]);
      const idle = await stack.createReport('without items');
      const behind = /not known: LEDGER is behind since .*, newer items are not counted yet/;
      expect(await cli.text(`ledger --data-id ${id}`)).toMatch(behind);
      const ofIdle = await cli.text(`ledger --data-id ${idle.data_source.mon_data_id}`);
      expect(ofIdle).toMatch(behind);
      expect(ofIdle).not.toContain('the books cannot be compared');
      // No confirmation is asked for what cannot be closed.
      for (const options of ['', '--kind not_known', '--yes'])
        expect((await cli.run(`account close --data-id 0 --reason known ${options}`)).stderr).toMatch(
          /LEDGER is not read, cannot be closed: it ends by itself once/,
        );
      expect(await cli.text('ledger')).not.toMatch(/\byes\b/);
      expect(await cli.text('account')).toMatch(behind);
      expect(await cli.text(`activity ${id}`)).toMatch(
        /^not known +since .*, newer items are not counted yet$/m,
      );
      expect((await lineAt(firstUrl())).account?.adds_up).toBe(null);
    } finally {
      stack.transfer[0]?.signal('SIGCONT');
    }
    await waitFor('a known account of all', 120_000, () => isKnown(3));
    expect(await cli.text('account')).not.toContain('LEDGER');
  });
});

// Last: it kills transfer.
describe('a transfer process that is killed', () => {
  it('is a trouble on both metadata processes, with the messages that wait; it goes when one is back', async () => {
    await stack.transfer[0]?.kill();
    const codesOf = ({ troubles }: Line): string[] => troubles.map(({ code }) => code);
    for (const url of urls()) {
      const line = await pushUntil('the troubles and the lag', async () => {
        const now = await lineAt(url);
        const waiting = now.streams.find(({ stream }) => stream === 'METRICS')?.pending ?? 0;
        return codesOf(now).includes('process_gone') && waiting > 0 && now;
      });
      expect(codesOf(line)).toEqual(expect.arrayContaining(['role_missing', 'process_gone', 'no_workers']));
      expect(line.processes.find(({ role }) => role === 'transfer')).toMatchObject({ state: 'gone' });
      expect(itemsOn(line, 'stream:METRICS', 'transfer:metrics')).toBe(0);
    }
    stack.transfer[0]?.start();
    await stack.transfer[0]?.ready();
    await waitFor('the lag and its troubles to go', 90_000, async () => {
      const now = await lineAt(firstUrl());
      const codes = codesOf(now);
      const waiting = now.streams.find(({ stream }) => stream === 'METRICS')?.messages ?? 1;
      return waiting === 0 && !codes.includes('role_missing') && !codes.includes('no_workers');
    });
  });

  it('leaves at once when it is stopped in order', async () => {
    const pid = stack.transfer[0]?.pid;
    const isKnown = async (): Promise<boolean> =>
      (await lineAt(firstUrl())).processes.some((process) => process.pid === pid);
    await waitFor('its pulse', 60_000, isKnown);
    await stack.transfer[0]?.stop();
    await waitFor('its last pulse', 60_000, async () => !(await isKnown()));
    expect((await lineAt(firstUrl())).troubles.map(({ code }) => code)).toContain('role_missing');
  });
});
