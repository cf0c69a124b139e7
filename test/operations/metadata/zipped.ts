import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { endpointsOf } from '../../../src/metadata/api/server.ts';
import { depsOfNothing } from '../../../tools/docs/openapi.ts';
import { createReport } from '../../support/metadata/admin-api.ts';
import type { MetadataRole } from '../../support/metadata/role.ts';
import { sharedStack } from './stack.ts';

let metadata: MetadataRole;
let authorization: string;

beforeAll(async () => {
  ({ metadata } = await sharedStack());
  authorization = `Bearer ${(await readFile(join(metadata.dataFolder, 'admin.token'), 'utf8')).trim()}`;
});

/** As it is on the link: this client unzips nothing. */
const ask = (path: string, encoding?: string, signal?: AbortSignal) =>
  request(`${metadata.url}${path}`, {
    headers: { authorization, ...(encoding === undefined ? {} : { 'accept-encoding': encoding }) },
    ...(signal === undefined ? {} : { signal }),
  });
const read = async (path: string, encoding?: string) => {
  const { statusCode, headers, body } = await ask(path, encoding);
  expect(statusCode, path).toBe(200);
  return { headers, bytes: Buffer.from(await body.arrayBuffer()) };
};

const list = '/api/v1/data-sources?limit=1000';

// A list of a thousand sources is 580 kB, which a page reads every 15 s.
describe('a long answer', () => {
  beforeAll(async () => {
    for (let count = 0; count < 12; count++)
      await createReport(metadata, { mon_biz_id: 71, name: `zipped ${count}` });
  });

  it.each([list, '/openapi.json'])(
    '%s is zipped for a client that takes it, and is the same',
    async (path) => {
      const plain = await read(path);
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(plain.headers['vary']).toBe('Accept-Encoding');
      for (const encoding of ['gzip', 'br, GZIP;q=0.5', 'deflate,gzip; q=1.0']) {
        const { headers, bytes } = await read(path, encoding);
        expect(headers).toMatchObject({
          'content-encoding': 'gzip',
          vary: 'Accept-Encoding',
          'cache-control': 'no-store',
        });
        expect(bytes.length).toBeLessThan(plain.bytes.length / 3);
        expect(gunzipSync(bytes).equals(plain.bytes)).toBe(true);
      }
    },
  );

  it('is read by a client that unzips by itself', async () => {
    const answer = await fetch(`${metadata.url}${list}`, { headers: { authorization } });
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    const { items } = z.object({ items: z.array(z.unknown()) }).parse(await answer.json());
    expect(items.length).toBeGreaterThanOrEqual(12);
  });

  it.each([undefined, 'identity', 'br', 'gzip;q=0', 'gzip; q=0.000', 'xgzip'])(
    'is not for a client that takes %s',
    async (encoding) => {
      const { headers, bytes } = await read(list, encoding);
      expect(headers['content-encoding']).toBeUndefined();
      expect(JSON.parse(bytes.toString())).toHaveProperty('items');
    },
  );
});

describe('never zipped is', () => {
  // The length of zipped bytes gives away what is in them to one who chooses a part of them.
  it('an answer with tokens', async () => {
    const { headers, bytes } = await read('/api/v1/export', 'gzip');
    expect(bytes.length).toBeGreaterThan(4_096);
    expect(bytes.toString()).toMatch(/"token":"[0-9a-f]{32}"/);
    expect(headers['content-encoding']).toBeUndefined();
    // Each of these is audited, and no audited answer is zipped.
    const showsToken = ({ answer }: { answer: z.ZodType }): boolean =>
      JSON.stringify(z.toJSONSchema(answer, { io: 'output', unrepresentable: 'any' })).includes(
        '^[0-9a-f]{32}$',
      );
    const endpoints = endpointsOf(depsOfNothing());
    const showing = endpoints.filter(showsToken);
    expect(showing.length).toBeGreaterThan(5);
    expect(showing.filter(({ isWrite }) => !isWrite).map(({ path }) => path)).toEqual([]);
  });

  it('a record, whose ETag is that of its plain bytes', async () => {
    const { headers } = await read('/api/v1/data-sources/1500001', 'gzip');
    expect(headers['etag']).toMatch(/^"\d+"$/);
    expect(headers['content-encoding']).toBeUndefined();
  });

  it.each(['/api/v1/live?topics=line', '/api/v1/drops/live'])('the stream %s', async (path) => {
    const ending = new AbortController();
    const { statusCode, headers, body } = await ask(path, 'gzip', ending.signal);
    body.on('error', () => undefined);
    expect(statusCode).toBe(200);
    expect(headers['content-encoding']).toBeUndefined();
    ending.abort();
  });
});
