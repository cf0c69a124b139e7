import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connectBus } from '../../src/bus/connection.ts';
import { openKvBucket } from '../../src/bus/kv.ts';
import { buckets } from '../../src/directory/keys.ts';
import { createCli } from '../support/clients/cli.ts';
import { createVisitor, type Visitor } from '../support/console/visitor.ts';
import { createReport } from '../support/metadata/admin-api.ts';
import {
  type MetadataRole,
  type MetadataStack,
  startMetadataRole,
  startMetadataStack,
} from '../support/metadata/role.ts';
import { makeAuthority, makeCertificate } from '../support/stack/certificates.ts';
import { waitFor } from '../support/wait.ts';

let stack: MetadataStack;
let metadata: MetadataRole;
/** Another process on the same NATS. */
let second: MetadataRole;
let adminToken: string;

beforeAll(async () => {
  stack = await startMetadataStack({ TIDEMARK_REFRESH_CRON: '0 0 1 1 *' });
  ({ metadata } = stack);
  second = await startMetadataRole(stack.engines, 'second');
  adminToken = (await readFile(join(metadata.dataFolder, 'admin.token'), 'utf8')).trim();
});
afterAll(async () => {
  await second?.role.stop();
  await stack?.stop();
});

const issued = z.object({ token: z.string(), admin_token: z.object({ token_id: z.int() }) });

const issue = async (role: string, expires_at: number | null = null) => {
  const { body } = await metadata.ask('POST', '/api/v1/admin-tokens', {
    name: `${role} of a test`,
    role,
    expires_at,
  });
  const { token, admin_token } = issued.parse(body);
  return { token, id: admin_token.token_id };
};

const visitorWith = async (token: string): Promise<Visitor> => {
  const visitor = createVisitor(metadata.url);
  expect(await visitor.logIn({ token })).toMatchObject({ status: 200 });
  return visitor;
};

const hourBack = resolve(import.meta.dirname, '../support/account/hour-back.mjs');

const cli = createCli(() => metadata.env);
const linkSchema = z.strictObject({ url: z.string() });
const newCode = async (): Promise<string> =>
  new URL((await cli.json(linkSchema, 'console')).url).hash.slice(1);

const auditSchema = z.object({
  items: z.array(
    z.looseObject({
      action: z.string(),
      actor: z.object({ token_id: z.int().nullable(), role: z.string() }),
      target: z.object({ id: z.string().nullable() }),
      request: z.unknown(),
    }),
  ),
});
const auditOf = async (action: string) =>
  auditSchema.parse((await metadata.ask('GET', `/api/v1/audit?action=${action}&limit=1000`)).body).items;

describe('a log-in to the console', () => {
  it('by an admin token makes a session that calls the API as its owner, on every metadata process', async () => {
    const { token, id } = await issue('editor');
    const visitor = createVisitor(metadata.url);
    const seen = await visitor.logIn({ token });
    expect(seen).toMatchObject({ status: 200, body: { token_id: id, role: 'editor' } });
    const [cookie = ''] = seen.headers['set-cookie'] ?? [];
    const { port } = new URL(metadata.url);
    expect(cookie).toMatch(
      new RegExp(`^tidemark-${port}=${id}\\.[0-9a-f]{64}; Path=/; HttpOnly; SameSite=Strict$`),
    );
    expect(cookie).not.toContain(token);
    expect(await visitor.ask('GET', '/console/session')).toMatchObject({
      status: 200,
      body: { token_id: id },
    });
    expect(await visitor.ask('GET', '/api/v1/custom-reports')).toMatchObject({ status: 200 });
    expect(await visitor.ask('GET', '/api/v1/admin-tokens')).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    });
    const other = createVisitor(second.url);
    other.cookie = visitor.cookie.replace(`tidemark-${port}`, `tidemark-${new URL(second.url).port}`);
    expect(await other.ask('GET', '/api/v1/custom-reports')).toMatchObject({ status: 200 });
  });

  it('by the link of `tidemark console` works once', async () => {
    const { url } = await cli.json(linkSchema, 'console');
    expect(url).toMatch(new RegExp(`^${metadata.url}/console/login#1\\.[0-9a-f]{40}$`));
    const code = new URL(url).hash.slice(1);
    const visitor = createVisitor(metadata.url);
    expect(await visitor.logIn({ code })).toMatchObject({
      status: 200,
      body: { token_id: 1, role: 'admin' },
    });
    expect(await visitor.ask('GET', '/api/v1/admin-tokens')).toMatchObject({ status: 200 });
    // Also on the process that did not make it.
    const again = await createVisitor(second.url).logIn({ code });
    expect(again).toMatchObject({ status: 401, body: { code: 'login_refused' } });
    expect(again.headers['set-cookie']).toBeUndefined();
  });

  it('by a link, and its step-ups, count by no clock of a host: one that is an hour behind serves those of the others', async () => {
    const { token } = await issue('admin');
    const report = z
      .object({ mon_data_id: z.int() })
      .parse(await createReport(metadata, { mon_biz_id: 2, name: 'of two clocks' }));
    const behind = await startMetadataRole(stack.engines, 'behind', { NODE_OPTIONS: `--import=${hourBack}` });
    try {
      const { token: own } = await issue('admin');
      const link = await behind.askAs(own, 'POST', '/api/v1/console-links', {});
      const code = z.looseObject({ path: z.string() }).parse(link.body).path.split('#')[1] ?? '';
      expect(await createVisitor(metadata.url).logIn({ code })).toMatchObject({ status: 200 });
      const there = createVisitor(behind.url);
      expect(await there.logIn({ token })).toMatchObject({ status: 200 });
      const here = createVisitor(metadata.url);
      const portOf = (url: string): string => new URL(url).port;
      here.cookie = there.cookie.replace(portOf(behind.url), portOf(metadata.url));
      expect(
        await here.ask('POST', `/api/v1/data-sources/${report.mon_data_id}/reveal-token`, {}),
      ).toMatchObject({ status: 200 });
    } finally {
      await behind.role.stop();
    }
  });

  it('is refused for a wrong, an expired, a revoked token and one of a node, and each refusal is in the audit log', async () => {
    const before = (await auditOf('console.login_refused')).length;
    const expired = await issue('admin', Math.floor(Date.now() / 1000) + 3);
    const gone = await issue('admin');
    await metadata.ask('POST', `/api/v1/admin-tokens/${gone.id}/revoke`, {});
    const node = await issue('node');
    await waitFor(
      'the token has expired',
      10_000,
      async () => (await metadata.askAs(expired.token, 'GET', '/api/v1/audit')).status === 401,
    );
    for (const [token, status] of [
      ['0'.repeat(48), 401],
      [expired.token, 401],
      [gone.token, 401],
      [node.token, 403],
    ] as const) {
      const seen = await createVisitor(metadata.url).logIn({ token });
      expect(seen).toMatchObject({
        status,
        body: { detail: expect.any(String), remedy: expect.any(String) },
      });
      expect(seen.headers['set-cookie']).toBeUndefined();
    }
    const refused = await auditOf('console.login_refused');
    expect(refused).toHaveLength(before + 4);
    expect(refused[0]).toMatchObject({ actor: { token_id: node.id, role: 'node' } });
    expect(refused[3]).toMatchObject({
      actor: { token_id: null, role: 'none' },
      request: { address: '127.0.0.1', by: 'token' },
    });
  });

  it('is refused without the header field of the console, and from another origin', async () => {
    const ask = (headers: Record<string, string>) =>
      createVisitor(metadata.url).ask('POST', '/console/session', { token: adminToken }, headers);
    expect(await ask({})).toMatchObject({ status: 200 });
    expect(await ask({ 'x-tidemark-console': '' })).toMatchObject({
      status: 403,
      body: { code: 'cross_site' },
    });
    expect(await ask({ 'sec-fetch-site': 'cross-site' })).toMatchObject({
      status: 403,
      body: { code: 'cross_site' },
    });
  });

  it.each(['/console/session', '/console/session/step-up'])(
    'with a body that is too large is a 413 at %s without a credential, and no error of the program',
    async (path) => {
      const seen = await createVisitor(metadata.url).ask('POST', path, { token: 'x'.repeat(4_096) });
      expect(seen).toMatchObject({
        status: 413,
        headers: { connection: 'close' },
        body: { code: 'body_too_large', detail: 'the limit of a body is 4096 bytes' },
      });
      expect(metadata.lines.filter((line) => line.includes('internal_error'))).toEqual([]);
    },
  );

  it.each([
    { host: 'tidemark.example' },
    // A proxy on this machine that names itself in Host leaves Origin, which a browser sends with each log-in.
    { origin: 'https://tidemark.example' },
  ])('is refused where the cookie would travel in plain text beyond this machine: %j', async (headers) => {
    const ask = { token: adminToken };
    const seen = await createVisitor(metadata.url).ask('POST', '/console/session', ask, headers);
    expect(seen).toMatchObject({
      status: 403,
      body: {
        code: 'transport_open',
        detail: expect.stringMatching(/; this request is from 127\.0\.0\.1$/),
        remedy: expect.stringContaining('TIDEMARK_METADATA_TLS_CERT_FILE'),
      },
    });
  });

  it('and its log-out are in the audit log under one name, without a secret', async () => {
    const { token, id } = await issue('viewer');
    const visitor = await visitorWith(token);
    expect(await visitor.ask('DELETE', '/console/session')).toMatchObject({ status: 200 });
    expect(await visitor.ask('GET', '/console/session')).toMatchObject({ status: 401 });
    const [login] = await auditOf('console.login');
    const [logout] = await auditOf('console.logout');
    expect(login).toMatchObject({
      actor: { token_id: id },
      target: { id: expect.stringMatching(/^[0-9a-f]{16}$/) },
    });
    expect(logout?.target).toEqual(login?.target);
    expect(JSON.stringify([login, logout])).not.toContain(visitor.cookie.split('.')[1]);
    expect(JSON.stringify([login, logout])).not.toContain(token);
  });
});

describe('a token that logs in or makes links without an end', () => {
  it('waits after sixty in a minute, washes nothing out of the audit log, and ends the link of no other token', async () => {
    const { token, id } = await issue('viewer');
    const ofToken = async (action: string) =>
      (await auditOf(action)).filter(({ actor }) => actor.token_id === id).length;
    const link = () =>
      fetch(`${metadata.url}/api/v1/console-links`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}` },
      });
    // In batches: all of them belong into one minute, and the foreign code lives for one. Of log-ins ten of an address may be under way or
    // refused within a minute, and four were refused above.
    const sixty = async (act: () => Promise<{ readonly status: number }>): Promise<void> => {
      for (let batch = 0; batch < 12; batch++) {
        const seen = await Promise.all(Array.from({ length: 5 }, act));
        expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([200]));
      }
    };
    const code = await newCode();
    await sixty(link);
    const late = await link();
    expect([late.status, late.headers.get('Retry-After')]).toEqual([429, '60']);
    expect(await late.json()).toMatchObject({
      code: 'too_many_attempts',
      detail: expect.stringContaining('made links 60 times within a minute'),
    });
    expect(await createVisitor(metadata.url).logIn({ code })).toMatchObject({
      status: 200,
      body: { token_id: 1 },
    });
    const logIn = () => createVisitor(metadata.url).logIn({ token });
    await sixty(logIn);
    expect(await logIn()).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
    expect([await ofToken('console.link'), await ofToken('console.login')]).toEqual([60, 60]);
  });
});

describe('a session of the console', () => {
  it('is refused for a request that another origin could have caused; a bearer needs none of it', async () => {
    const { token } = await issue('editor');
    const visitor = await visitorWith(token);
    const get = (headers: Record<string, string>) => visitor.ask('GET', '/api/v1/audit', undefined, headers);
    expect(await get({})).toMatchObject({ status: 200 });
    expect(await get({ 'sec-fetch-site': 'same-site' })).toMatchObject({
      status: 403,
      body: { code: 'cross_site' },
    });
    expect(await get({ 'sec-fetch-site': '' })).toMatchObject({ status: 403, body: { code: 'cross_site' } });
    expect(await get({ 'sec-fetch-site': '', origin: metadata.url })).toMatchObject({ status: 200 });
    const post = (headers: Record<string, string>) =>
      visitor.ask('POST', '/api/v1/applications', { mon_biz_id: 2, app_name: `a${Math.random()}` }, headers);
    expect(await post({ 'x-tidemark-console': '' })).toMatchObject({
      status: 403,
      body: { code: 'cross_site' },
    });
    expect(await post({})).toMatchObject({ status: 200 });
    const bearer = {
      authorization: `Bearer ${token}`,
      'sec-fetch-site': 'cross-site',
      'x-tidemark-console': '',
    };
    expect(await post(bearer)).toMatchObject({ status: 200 });
    expect((await post(bearer)).headers['access-control-allow-origin']).toBeUndefined();
    // A wrong bearer is not replaced by the cookie.
    expect(await get({ authorization: 'Bearer wrong' })).toMatchObject({ status: 401 });
  });

  it('ends within a second after its token was revoked, and its live stream too, on another process', async () => {
    const { token, id } = await issue('viewer');
    const visitor = await visitorWith(token);
    const livePath = '/api/v1/drops/live';
    const live = await visitor.open(livePath);
    const ofBearer = await fetch(`${second.url}${livePath}`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    expect([live.status, ofBearer.status]).toEqual([200, 200]);
    const revokedAt = performance.now();
    await second.askAs(adminToken, 'POST', `/api/v1/admin-tokens/${id}/revoke`, {});
    await waitFor('the session has ended', 1_000, async () => {
      return (await visitor.ask('GET', '/console/session')).status === 401;
    });
    await Promise.all([live.ended, ofBearer.text()]);
    // A look each half second; the bound has room for a slow machine.
    expect(performance.now() - revokedAt).toBeLessThan(5_000);
  }, 60_000);

  it('ends for all browsers of its owner by "all my sessions", and for nobody else', async () => {
    const { token } = await issue('viewer');
    const { token: foreign } = await issue('viewer');
    const [one, two, other] = [
      await visitorWith(token),
      await visitorWith(token),
      await visitorWith(foreign),
    ];
    expect(await one.ask('DELETE', '/console/sessions')).toMatchObject({ status: 200 });
    for (const visitor of [one, two])
      expect(await visitor.ask('GET', '/console/session')).toMatchObject({ status: 401 });
    expect(await other.ask('GET', '/console/session')).toMatchObject({ status: 200 });
  });

  it.each(['/console/session', '/console/sessions'])(
    'has one log-out in the audit log, of many at once: DELETE %s',
    async (path) => {
      const { token, id } = await issue('viewer');
      const visitor = await visitorWith(token);
      const seen = await Promise.all(Array.from({ length: 30 }, () => visitor.ask('DELETE', path)));
      const statuses = seen.map(({ status }) => status).sort();
      expect(statuses).toEqual([200, ...Array.from({ length: 29 }, () => 401)]);
      const ofToken = (await auditOf('console.logout')).filter(({ actor }) => actor.token_id === id);
      expect(ofToken).toHaveLength(1);
    },
  );

  it('is one of a hundred of its token, on all metadata processes; one more ends the one that was unused for longest', async () => {
    const { token, id } = await issue('viewer');
    const { token: foreign } = await issue('viewer');
    const [first, next, third, other] = [
      await visitorWith(token),
      await visitorWith(token),
      await visitorWith(token),
      await visitorWith(foreign),
    ];
    expect(await first.ask('POST', '/console/session/step-up', { token })).toMatchObject({ status: 200 });
    for (let count = 3; count <= 100; count++) {
      const visitor = createVisitor(count % 2 === 0 ? metadata.url : second.url);
      expect(await visitor.logIn({ token })).toMatchObject({ status: 200 });
      // A log-out leaves nothing that takes the room of a session.
      if (count === 50) {
        expect(await visitor.ask('DELETE', '/console/session')).toMatchObject({ status: 200 });
        expect(await visitor.logIn({ token })).toMatchObject({ status: 200 });
      }
    }
    expect(await next.ask('GET', '/console/session')).toMatchObject({ status: 401 });
    for (const visitor of [first, third, other])
      expect(await visitor.ask('GET', '/console/session')).toMatchObject({ status: 200 });
    await using bus = await connectForAWhile();
    expect(await bus.keysOf(id)).toHaveLength(100);
  });

  it('wants the token again after five minutes for acts on secrets, which no call by bearer needs', async () => {
    const { token } = await issue('admin');
    const visitor = await visitorWith(token);
    const report = z
      .object({ mon_data_id: z.int() })
      .parse(await createReport(metadata, { mon_biz_id: 2, name: 'stepped' }));
    const reveal = (headers = {}) =>
      visitor.ask('POST', `/api/v1/data-sources/${report.mon_data_id}/reveal-token`, {}, headers);
    expect(await reveal()).toMatchObject({ status: 200 });
    await using bus = await connectForAWhile();
    await bus.age(visitor, 300_000);
    expect(await reveal()).toMatchObject({ status: 403, body: { code: 'step_up_required' } });
    for (const path of [
      'console-links',
      `data-sources/${report.mon_data_id}/reveal-snippets`,
      'applications/1/reveal-snippets',
    ])
      expect(await visitor.ask('POST', `/api/v1/${path}`, {}), path).toMatchObject({
        status: 403,
        body: { code: 'step_up_required' },
      });
    expect(await visitor.ask('GET', '/api/v1/audit')).toMatchObject({ status: 200 });
    expect(await reveal({ authorization: `Bearer ${token}` })).toMatchObject({ status: 200 });
    const { token: another } = await issue('admin');
    const stepUp = (proof: object) => visitor.ask('POST', '/console/session/step-up', proof);
    expect(await stepUp({ token: another })).toMatchObject({ status: 401, body: { code: 'login_refused' } });
    expect(await reveal()).toMatchObject({ status: 403 });
    expect(await stepUp({ token })).toMatchObject({ status: 200 });
    expect(await reveal()).toMatchObject({ status: 200 });
  });
});

const connectForAWhile = async () => {
  const bus = await connectBus(stack.engines.nats.url, 'test');
  const { streams } = await bus.manager();
  const bucket = await openKvBucket(bus, buckets.sessions);
  /** Of all sessions of a token. */
  const keysOf = async (tokenId: number | string): Promise<string[]> => {
    const { state } = await streams.info(`KV_${buckets.sessions}`, {
      subjects_filter: `$KV.${buckets.sessions}.session.${tokenId}.*`,
    });
    return Object.keys(state.subjects ?? {}).map((subject) =>
      subject.replace(`$KV.${buckets.sessions}.`, ''),
    );
  };
  return {
    keysOf,
    /** Makes the sessions older, as time would. */
    age: async (visitor: Visitor, ms: number): Promise<void> => {
      const [tokenId = ''] = visitor.cookie.split('=')[1]?.split('.') ?? [];
      for (const key of await keysOf(tokenId)) {
        const value = z.looseObject({ proven_at: z.int() }).parse((await bucket.get(key))?.value);
        await bucket.put(key, { ...value, proven_at: value.proven_at - ms });
      }
    },
    [Symbol.asyncDispose]: () => bus.close(),
  };
};

it('answers of the API are kept by no cache and taken for no other type, also where they are refused', async () => {
  const visitor = await visitorWith((await issue('admin')).token);
  for (const path of [
    '/api/v1/custom-reports',
    '/api/v1/export',
    '/api/v1/nothing',
    '/openapi.json',
    '/livez',
  ])
    expect((await visitor.ask('GET', path)).headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
  expect(await createVisitor(metadata.url).ask('GET', '/api/v1/export')).toMatchObject({
    status: 401,
    headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
  });
});

describe('the files of the console', () => {
  const get = (path: string, headers = {}) =>
    createVisitor(metadata.url).ask('GET', path, undefined, headers);

  it('are one page under every path, never cached, and assets that are cached for ever', async () => {
    const page = await get('/console/');
    expect(page).toMatchObject({
      status: 200,
      headers: { 'cache-control': 'no-store', 'content-type': 'text/html; charset=utf-8' },
    });
    expect((await get('/console/sources/1500001/setup')).text).toBe(page.text);
    expect(await get('/console')).toMatchObject({ status: 308, headers: { location: '/console/' } });
    const [, asset = ''] = /src="([^"]+\.js)"/.exec(page.text) ?? [];
    expect(await get(asset)).toMatchObject({
      status: 200,
      headers: {
        'cache-control': 'public, max-age=31536000, immutable',
        'content-type': 'text/javascript; charset=utf-8',
      },
    });
    expect(await get(asset, { 'accept-encoding': 'gzip, br' })).toMatchObject({
      headers: { 'content-encoding': 'gzip' },
    });
    expect(await get('/console/assets/none.js')).toMatchObject({ status: 404 });
    expect((await get('/console/assets/..%2f..%2fpackage.json')).text).not.toContain('tidemark@');
  });

  it('come with a policy that lets nothing from elsewhere run, as every answer of the console does', async () => {
    for (const path of ['/console', '/console/', '/console/outcomes']) {
      const { headers } = await get(path);
      expect(headers).toMatchObject({
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'permissions-policy': expect.stringContaining('camera=()'),
      });
    }
    expect((await get('/console/')).text).not.toMatch(/style=|<script(?![^>]*src=)/);
  });
});

describe('metadata', () => {
  it('without a console serves neither files nor sessions, and says so to who wants a link', async () => {
    const off = await startMetadataRole(stack.engines, 'off', { TIDEMARK_CONSOLE: 'off' });
    try {
      const visitor = createVisitor(off.url);
      expect((await visitor.ask('GET', '/console/')).status).toBe(401);
      expect((await visitor.logIn({ token: adminToken })).status).toBe(401);
      const { port } = new URL(off.url);
      visitor.cookie = (await visitorWith(adminToken)).cookie.replace(/^[^=]+/, `tidemark-${port}`);
      expect((await visitor.ask('GET', '/api/v1/audit')).status).toBe(401);
      const link = await off.askAs(adminToken, 'POST', '/api/v1/console-links', {});
      expect(link).toMatchObject({ status: 409, body: { code: 'console_off' } });
    } finally {
      await off.role.stop();
    }
  });

  it('with a certificate answers over TLS alone, with a cookie for that, and the command line trusts its authority', async () => {
    const authority = makeAuthority(stack.engines.folder, 'authority');
    const { certFile, keyFile } = makeCertificate(stack.engines.folder, 'metadata', authority);
    const secure = await startMetadataRole(stack.engines, 'secure', {
      TIDEMARK_METADATA_TLS_CERT_FILE: certFile,
      TIDEMARK_METADATA_TLS_KEY_FILE: keyFile,
      TIDEMARK_ADMIN_TOKEN: adminToken,
    });
    try {
      await expect(fetch(secure.url)).rejects.toThrow();
      const url = secure.url.replace('http:', 'https:');
      const visitor = createVisitor(url, authority.cert);
      const seen = await visitor.logIn({ token: adminToken });
      expect(seen.headers['set-cookie']).toEqual([
        expect.stringMatching(/^__Host-tidemark=[0-9a-f.]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/),
      ]);
      expect(await visitor.ask('GET', '/api/v1/audit')).toMatchObject({ status: 200 });
      const own = createCli(() => secure.env);
      expect((await own.run('console --json')).stderr).toContain('TIDEMARK_ADMIN_CA_FILE');
      const trusting = createCli(() => ({ ...secure.env, TIDEMARK_ADMIN_CA_FILE: authority.certFile }));
      expect((await trusting.json(linkSchema, 'console')).url).toContain(`${url}/console/login#`);
    } finally {
      await secure.role.stop();
    }
  });

  it('keeps logging in after NATS lost the sessions in a restart', async () => {
    const visitor = await visitorWith(adminToken);
    await stack.engines.nats.kill();
    await stack.engines.nats.start();
    await waitFor(
      'metadata is connected again',
      30_000,
      async () => (await metadata.ask('GET', '/api/v1/audit')).status === 200,
    );
    expect((await visitor.ask('GET', '/console/session')).status).toBe(401);
    expect(await createVisitor(metadata.url).logIn({ code: await newCode() })).toMatchObject({ status: 200 });
  });

  // The last two: they use up the attempts of this address.
  it('looks at ten wrong tokens of an address that sends many at once', async () => {
    const logIn = async () => (await createVisitor(second.url).logIn({ token: '0'.repeat(64) })).status;
    const statuses = await Promise.all(Array.from({ length: 40 }, logIn));
    const looked = statuses.filter((status) => status !== 429);
    expect(looked.length).toBeGreaterThan(0);
    expect(looked.length).toBeLessThanOrEqual(10);
    expect(new Set(looked)).toEqual(new Set([401]));
  });

  it('lets an address fail ten times a minute, then refuses even the right token', async () => {
    const before = (await auditOf('console.login_refused')).length;
    const logIn = () => createVisitor(metadata.url).logIn({ token: '0'.repeat(64) });
    let status = 0;
    for (let tries = 0; tries < 11 && status !== 429; tries++) status = (await logIn()).status;
    const seen = await createVisitor(metadata.url).logIn({ token: adminToken });
    expect(seen).toMatchObject({
      status: 429,
      headers: { 'retry-after': '60' },
      body: { code: 'too_many_attempts' },
    });
    expect((await auditOf('console.login_refused')).length).toBeLessThanOrEqual(before + 10);
  });
});
