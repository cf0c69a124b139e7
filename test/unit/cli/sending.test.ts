import { createServer as createPlain } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Server } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import type { AdminClient } from '../../../src/cli/client.ts';
import { exportOverGrpc } from '../../../src/cli/doctor/grpc-export.ts';
import { expiryOf, isStored, waitForPoint } from '../../../src/cli/push.ts';
import {
  accountStage,
  openAccount,
  receiverUnreachable,
  receiverUrls,
  send,
  waitForRow,
  waitForStore,
} from '../../../src/cli/sending.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import { Fault } from '../../../src/model/fault.ts';
import { makeAuthority, makeCertificate } from '../../support/stack/certificates.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

afterEach(() => void vi.useRealTimers());

type Counted = { readonly stored?: number; readonly dead_lettered?: number; readonly dropped?: object };

/** The account of an owner: stored items, or all outcomes, by the second at which their minute begins. */
const accounting = (minutes: ReadonlyMap<number, number | Counted>): AdminClient => ({
  ask: async (schema, _method, path) => {
    const since = Number(new URL(path, 'http://localhost').searchParams.get('since'));
    // As the API does: a minute belongs to a period that begins within it.
    const first = Math.floor(since / 60) * 60;
    const items = [...minutes].flatMap(([at, counted]) => {
      const some = typeof counted === 'number' ? { stored: counted } : counted;
      return at < first ? [] : [{ stored: 0, dead_lettered: 0, dropped: {}, ...some }];
    });
    return { value: schema.parse({ items }), json: { items } };
  },
  follow: async () => undefined,
});

const stageOf = async (client: AdminClient, owner: { data_id: number } | { app_id: number }, ms: number) =>
  accountStage(await openAccount(client, owner), ms);

const hour = 3_600;
const begun = 1_800_000_000;

describe('the account of an item that was sent', () => {
  it('counts it also where a minute passes meanwhile, whose items of an hour ago then are too old', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: (begun + 59) * 1_000 });
    const minutes = new Map([[begun - hour, 5]]);
    const [, pass] = await stageOf(accounting(minutes), { data_id: 1_500_001 }, 0);
    vi.setSystemTime((begun + 61) * 1_000);
    minutes.set(begun + 60, 1);
    expect(await pass(true)).toBe('stored; see tidemark ledger --data-id 1500001');
  });

  it('is not in time without a further item', async () => {
    const [, pass] = await stageOf(accounting(new Map([[begun, 5]])), { app_id: 3 }, 0);
    await expect(pass(false)).rejects.toMatchObject({ code: 'not_in_time' });
  });

  // Its row was seen: the wait was too short for the account, and no reason to send it again.
  it('is called stored where its row was seen and only the outcome is not recorded yet', async () => {
    const [, pass] = await stageOf(accounting(new Map([[begun, 5]])), { app_id: 3 }, 0);
    await expect(pass(true)).rejects.toMatchObject({
      code: 'outcome_not_yet',
      message: 'stored; its outcome is not recorded yet (timeout: its outcome is recorded, not within 0 s)',
    });
  });

  it('is not in time with what the account has counted of the owner instead', async () => {
    const minutes = new Map<number, Counted>([[begun, { stored: 5, dropped: { data_source_purged: 2 } }]]);
    const [, pass] = await stageOf(accounting(minutes), { data_id: 1_500_001 }, 0);
    minutes.set(begun, { stored: 5, dead_lettered: 1, dropped: { data_source_purged: 3 } });
    await expect(pass(false)).rejects.toMatchObject({
      code: 'not_in_time',
      message: expect.stringMatching(
        /^timeout: .*; since it was sent the account counts of this owner: 1 dead-lettered, 1 dropped as data_source_purged: see tidemark drops --data-id 1500001, /,
      ),
    });
  });

  // Another producer of the owner may have sent what it counts, while the own item was dropped.
  it('does not call it stored where its row was not looked at', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: begun * 1_000 });
    const minutes = new Map([[begun - 60, 5]]);
    const [, pass] = await stageOf(accounting(minutes), { app_id: 3 }, 0);
    minutes.set(begun, 1);
    expect(await pass(false)).toBe(
      'the account has counted an item of this owner; see tidemark ledger --app-id 3',
    );
  });
});

const away = new Fault('transient', 'store_unavailable', 'QuestDB does not answer');

describe('an item that was sent while its store is away', () => {
  it('is waited for: the store may be back within the time', async () => {
    let asked = 0;
    await waitForStore('the row is visible', 60_000, async () => {
      if (++asked < 3) throw away;
      return true;
    });
    expect(asked).toBe(3);
  });

  it('is not in time at the end, and the error has the last answer of the store', async () => {
    await expect(waitForStore('the row is visible', 0, () => Promise.reject(away))).rejects.toMatchObject({
      code: 'not_in_time',
      message: 'timeout: the row is visible, not within 0 s; the last answer: QuestDB does not answer',
    });
  });

  it('ends the wait where the store refuses the question', async () => {
    const refused = new Fault('permanent', 'unauthorized', 'no');
    await expect(waitForStore('the row', 60_000, () => Promise.reject(refused))).rejects.toBe(refused);
  });

  it('counts once the account answers again', async () => {
    const minutes = new Map([[begun, 5]]);
    const client = accounting(minutes);
    let failures = 0;
    const flaky: AdminClient = {
      ...client,
      ask: async (...given) => {
        if (failures-- > 0) throw away;
        return client.ask(...given);
      },
    };
    const [, pass] = await stageOf(flaky, { data_id: 1_500_001 }, 60_000);
    minutes.set(begun + 60, 1);
    failures = 2;
    expect(await pass(true)).toMatch(/^stored/);
  });
});

describe('a point that was sent', () => {
  const at = Date.parse('2026-01-02T03:04:05.678Z');
  const asksSchema = z.object({ since: z.number(), until: z.number(), at: z.number() });

  /** Answers the rows of these times that a query asks for. */
  const clientWith = (times: readonly number[]): AdminClient => ({
    ask: async (schema, _method, _path, request) => {
      const asked = asksSchema.parse(request?.body);
      const rows = times.filter(
        (time) => time >= asked.since * 1000 && time < asked.until * 1000 && time === asked.at,
      );
      const json = {
        raw: { columns: ['timestamp', 'target', 'cpu'], rows: rows.map((time) => [time, 'a', 1]) },
      };
      return { value: schema.parse(json), json };
    },
    follow: async () => undefined,
  });

  // An answer has at most 50 rows: of a target with more in that second, the row was not found.
  it('is stored once a row has its time to the millisecond, which the query asks for', async () => {
    const point = { metric: 'cpu', target: 'a', timestamp: at };
    expect(await isStored(clientWith([at - 1, at - 678]), 1_500_001, point)).toBe(false);
    expect(await isStored(clientWith([at - 1, at]), 1_500_001, point)).toBe(true);
  });
});

describe('a point whose day the retention has ended', () => {
  const now = Date.parse('2026-06-10T12:00:00Z');
  const old = { metric: 'cpu', target: 'a', timestamp: Date.parse('2026-05-30T23:00:00Z') };

  /** A data id that keeps ten days, and has no row. */
  const clientWith = (minutes: ReadonlyMap<number, number | Counted>): AdminClient => ({
    ...accounting(minutes),
    ask: async (schema, method, path, request) => {
      const noRows = { raw: { columns: ['timestamp'], rows: [] } };
      const json = path.endsWith('/policy') ? { policy: { retention_days: 10 } } : noRows;
      if (path.startsWith('/api/v1/outcomes')) return accounting(minutes).ask(schema, method, path, request);
      return { value: schema.parse(json), json };
    },
  });
  const expiry =
    'rows of 2026-05-30 are removed by the retention of 10 days: see tidemark retention show 1500001';

  it('is known by the policy: a day ends once all of it is older than the retention', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now });
    const client = clientWith(new Map());
    expect(await expiryOf(client, 1_500_001, old.timestamp)).toBe(expiry);
    vi.setSystemTime(Date.parse('2026-06-09T23:59:59.999Z'));
    expect(await expiryOf(client, 1_500_001, old.timestamp)).toBeUndefined();
  });

  // It was taken and stored, so the wait for its row ended as a timeout without a reason.
  it('is not waited for any more once it is counted as stored, and the error names the retention', async () => {
    const minutes = new Map([[begun, 5]]);
    const client = clientWith(minutes);
    vi.useFakeTimers({ toFake: ['Date'], now: begun * 1_000 });
    const account = await openAccount(client, { data_id: 1_500_001 });
    minutes.set(begun, 6);
    const waited = waitForPoint(client, 1_500_001, old, { account, timeoutMs: 60_000, expiry });
    await expect(waited).rejects.toMatchObject({
      kind: 'permanent',
      code: 'removed_by_retention',
      message: `stored, and not kept: ${expiry}`,
    });
  });

  it('is not in time with the retention where its outcome is not recorded yet', async () => {
    const client = clientWith(new Map());
    const account = await openAccount(client, { data_id: 1_500_001 });
    const waited = waitForPoint(client, 1_500_001, old, { account, timeoutMs: 0, expiry });
    await expect(waited).rejects.toMatchObject({
      code: 'not_in_time',
      message: `timeout: the row is visible, not within 0 s; ${expiry}; the account has counted nothing of this owner since`,
    });
  });
});

describe('a row that does not come', () => {
  it('is not in time with what the account counts, and without it where the account does not answer', async () => {
    const minutes = new Map<number, Counted>([[begun, {}]]);
    vi.useFakeTimers({ toFake: ['Date'], now: begun * 1_000 });
    const account = await openAccount(accounting(minutes), { app_id: 3 });
    minutes.set(begun, { stored: 2 });
    await expect(waitForRow(account, 0, async () => false)).rejects.toThrow(
      /not within 0 s; since it was sent the account counts of this owner: 2 stored$/,
    );
    const silent = { ...account, counted: () => Promise.reject(away) };
    await expect(waitForRow(silent, 0, async () => false)).rejects.toThrow(/not within 0 s$/);
  });
});

describe('the address of a receiver', () => {
  const pushUrlOf = (pushUrl: string): string =>
    receiverUrls(loadSettings({ TIDEMARK_DATA: '/nonexistent' }), { pushUrl }).pushUrl;

  it.each(['', '/', '/v2/push', '/v2/push/'])('may end with %j, as the banner shows it', (end) => {
    expect(pushUrlOf(`http://127.0.0.1:10205${end}`)).toBe('http://127.0.0.1:10205');
    expect(pushUrlOf(`https://proxy/tidemark${end}`)).toBe('https://proxy/tidemark');
  });

  it.each(['127.0.0.1:10205', 'localhost', 'ftp://host', 'http://'])(
    '%j is refused with the remedy',
    (url) => {
      expect(() => pushUrlOf(url)).toThrow(`"${url}" of a receiver must be like http://host:port`);
    },
  );
});

const listening = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `localhost:${typeof address === 'object' ? address?.port : 0}`;
};

/** A receiver with a certificate that the system does not trust, or that requires one of its clients. */
const secure = async (requestCert = false): Promise<string> => {
  const folder = await tempFolder();
  const authority = makeAuthority(folder, 'authority');
  const { cert, key } = makeCertificate(folder, 'server', authority);
  if (requestCert) {
    const trusted = getCACertificates('default');
    setDefaultCACertificates([...trusted, authority.cert]);
    onTestFinished(() => setDefaultCACertificates(trusted));
  }
  const clients = requestCert ? { requestCert, rejectUnauthorized: true, ca: authority.cert } : {};
  return listening(createSecureServer({ cert, key, allowHTTP1: true, ...clients }));
};

const span = { traceId: '0a'.repeat(16), spanId: '0b'.repeat(8), name: 'a', service: 'a', startNanos: 1n };

// "no answer" alone led to the network, and to the receiver, which worked.
describe.each<[how: string, ask: (url: string) => Promise<unknown>]>([
  ['over HTTP', (url) => send(url, '--url', {}, {})],
  ['over gRPC', (url) => exportOverGrpc(url, 'token', span)],
])('a receiver that does not answer %s', (_, ask) => {
  it('is named with the setting, where its authority is not known', async () => {
    await expect(ask(`https://${await secure()}`)).rejects.toMatchObject({
      code: 'receiver_unreachable',
      message: expect.stringMatching(/\(unable to verify .*\): set TIDEMARK_ADMIN_CA_FILE/),
    });
  });

  it('is named with the scheme, where it speaks no TLS', async () => {
    await expect(ask(`https://${await listening(createPlain())}`)).rejects.toMatchObject({
      message: expect.stringMatching(/wrong version number.*begin the address with http:/s),
    });
  });

  it('is named with the scheme, where it speaks TLS alone', async () => {
    const url = `http://${await secure()}`;
    await expect(ask(url)).rejects.toMatchObject({
      message: expect.stringContaining('begin the address with https://'),
    });
  });

  it('is named with the limit, where it requires certificates of clients', async () => {
    await expect(ask(`https://${await secure(true)}`)).rejects.toMatchObject({
      message: expect.stringContaining('takes nothing of a command, which has none'),
    });
  });

  // In a container without a receiver, the default address led nowhere.
  it('is named with the reason of the network, and with the option for its address', async () => {
    const server = createPlain();
    const url = `http://${await listening(server)}`;
    server.close();
    await expect(ask(url)).rejects.toMatchObject({
      message: expect.stringMatching(/ECONNREFUSED.*start tidemark ingress.* with --(?:grpc-)?url$/),
    });
  });
});

// A restart, or an old version of TLS, was called a certificate that is missing.
describe('a connection that a receiver with TLS ends', () => {
  const toldOf = (code: string, url = 'https://r:4318'): string =>
    receiverUnreachable(
      url,
      '--url',
      new TypeError('fetch failed', { cause: Object.assign(new Error('c'), { code }) }),
    ).message;

  it.each([
    'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
    'ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE',
    'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
  ])('misses a certificate of the client only by an alert that says so: %s', (code) => {
    expect(toldOf(code)).toMatch(/\(c\): a receiver that requires certificates of clients/);
  });

  it('has no such remedy for another alert', () => {
    expect(toldOf('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION')).toBe('no answer from https://r:4318 (c)');
  });

  it.each(['ECONNRESET', 'UND_ERR_SOCKET'])('may have restarted, too: %s', (code) => {
    expect(toldOf(code)).toMatch(/it may have restarted; if that port requires certificates, /);
    expect(toldOf(code, 'http://r:4318')).toMatch(/it may have restarted; if that port has TLS, begin /);
  });
});
