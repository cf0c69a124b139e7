import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EngineCredentials, withAccount } from '../../../src/config/engine-credentials.ts';
import { readerUrls } from '../../../src/config/reader-urls.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import { ensureCredentials } from '../../../src/embedded/credentials.ts';

let folder: string;
let own: EngineCredentials;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-readers-'));
  own = await ensureCredentials(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const urlsOf = (env: Record<string, string>) => readerUrls(loadSettings({ TIDEMARK_DATA: folder, ...env }));

const readonly = ({ readonlyUser: user, readonlyPassword: password }: EngineCredentials['questdb']) => ({
  user,
  password,
});

describe('the users of queries', () => {
  it('are the readonly users of the embedded engines, whether or not the addresses are given', () => {
    const questdb = {
      name: 'default',
      url: withAccount('http://127.0.0.1:9000/', readonly(own.questdb)),
      isReader: true,
    };
    const clickhouse = {
      url: withAccount('http://127.0.0.1:8123/', readonly(own.clickhouse)),
      isReader: true,
    };
    expect(urlsOf({})).toEqual({ questdb: [questdb], clickhouse });
    const given = {
      TIDEMARK_QUESTDB_URL: withAccount('http://127.0.0.1:9000', own.questdb),
      TIDEMARK_CLICKHOUSE_URL: withAccount('http://127.0.0.1:8123', own.clickhouse),
    };
    expect(urlsOf(given)).toEqual({ questdb: [questdb], clickhouse });
  });

  it('are those of the settings, on every instance', () => {
    const { questdb, clickhouse } = urlsOf({
      TIDEMARK_QUESTDB_URL: 'http://a:b@one:9000',
      TIDEMARK_QUESTDB_URLS: 'b=https://c:d@two:9000',
      TIDEMARK_QUESTDB_READONLY_USER: 'reader',
      TIDEMARK_QUESTDB_READONLY_PASSWORD: 'p@ss',
      TIDEMARK_CLICKHOUSE_URL: 'http://c:d@three:8123',
      TIDEMARK_CLICKHOUSE_READONLY_USER: 'looker',
      TIDEMARK_CLICKHOUSE_READONLY_PASSWORD: 'x',
    });
    expect(questdb.map(({ url }) => url)).toEqual([
      'http://reader:p%40ss@one:9000/',
      'https://reader:p%40ss@two:9000/',
    ]);
    expect(clickhouse).toEqual({ url: 'http://looker:x@three:8123/', isReader: true });
  });

  it('are those of the roles where no others are known', () => {
    const url = 'http://c:d@three:8123';
    expect(urlsOf({ TIDEMARK_CLICKHOUSE_URL: url }).clickhouse).toEqual({ url, isReader: false });
  });

  it.each(['QUESTDB', 'CLICKHOUSE'])(
    'are refused without a password, and a password without a user: %s',
    (engine) => {
      for (const part of ['USER', 'PASSWORD'])
        expect(() => urlsOf({ [`TIDEMARK_${engine}_READONLY_${part}`]: 'x' })).toThrow(
          expect.objectContaining({
            code: 'config_invalid',
            message: expect.stringContaining(`TIDEMARK_${engine}_READONLY_`),
          }),
        );
    },
  );
});
