import { describe, expect, it } from 'vitest';
import { cleanVerdict, judgeRows, produce } from '../support/push/producer.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';
import {
  addressOf,
  below,
  installationOn,
  startUp,
  type Up,
  untilReady,
} from '../support/stack/up-process.ts';
import { waitFor } from '../support/wait.ts';

const seed = 11;

const credentialsOf = (up: Up) => {
  const found = /data_id (\d+), access_token ([0-9a-f]{32})/.exec(below(up, 'Credentials of the demo'));
  return { data_source: { mon_data_id: Number(found?.[1]), token: found?.[2] ?? '' } };
};

const query = async (folder: string, sql: string): Promise<unknown[][]> => {
  const { questdb } = await installationOn(folder);
  const authorization = `Basic ${Buffer.from(`${questdb.user}:${questdb.password}`).toString('base64')}`;
  const url = `${questdb.url}/exec?query=${encodeURIComponent(sql)}`;
  const answer: { dataset: unknown[][] } = JSON.parse(
    await (await fetch(url, { headers: { authorization } })).text(),
  );
  return answer.dataset;
};

describe('Ctrl-C under load', () => {
  it('ends in order; after the next start the table holds the acknowledged points, once', async () => {
    const folder = await tempFolder();
    const first = startUp(folder);
    await untilReady(first);
    const report = credentialsOf(first);
    const table = `2_mon_time_series_${report.data_source.mon_data_id}.__default__`;
    const stopLoad = new AbortController();
    const producing = produce(report, Date.now() - 60_000, {
      seed,
      connections: 4,
      pointsMax: 300,
      until: stopLoad.signal,
      urls: [`${addressOf(first, 'push metrics')}/v2/push/`],
    });
    await waitFor('rows arrive', 60_000, async () => {
      const [row] = await query(folder, `SELECT count() FROM "${table}"`);
      return Number(row?.[0]) > 2_000;
    });
    first.child.kill('SIGINT');
    expect(await first.exitCode).toBe(0);
    stopLoad.abort();
    const books = await producing;
    expect(books.acknowledged.size).toBeGreaterThan(2_000);

    const second = startUp(folder);
    await untilReady(second);
    await waitFor('every acknowledged point is visible', 60_000, async () => {
      const [row] = await query(folder, `SELECT count() FROM "${table}"`);
      return Number(row?.[0]) >= books.acknowledged.size;
    });
    const rows = await query(folder, `SELECT id, value_a, value_b, target, module, host FROM "${table}"`);
    expect(judgeRows(rows, books, seed)).toEqual(cleanVerdict);
  });
});
