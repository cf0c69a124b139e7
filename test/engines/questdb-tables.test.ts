import { createServer, type RequestListener } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { lookAtQuestdb } from '../../src/doctor/dependencies.ts';
import { rawSql } from '../../src/metadata/explore/point-sql.ts';
import type { Layout } from '../../src/model/records.ts';
import { createQuestdbSql, type QuestdbSql } from '../../src/stores/questdb/sql.ts';
import { readTableDays } from '../../src/stores/questdb/table-days.ts';
import { createQuestdbTables, type QuestdbTables } from '../../src/stores/questdb/tables.ts';
import { isValidName, registerNames } from '../../src/wire/column-naming.ts';
import { startEngines, type TestEngines } from '../support/stack/engines.ts';
import { fetchEngine } from '../support/stack/fetch-engine.ts';
import { until } from '../support/until.ts';

const schemasFolder = new URL('../../schemas', import.meta.url).pathname;

let engines: TestEngines;
let sql: QuestdbSql;
let tables: QuestdbTables;

beforeAll(async () => {
  engines = await startEngines({ questdb: true });
  sql = createQuestdbSql({ url: engines.questdb.url });
  tables = createQuestdbTables(sql, schemasFolder);
});
afterAll(async () => {
  await sql?.close();
  await engines?.stop();
});

const write = async (lines: string): Promise<void> => {
  const response = await fetchEngine(`${engines.questdb.url}/write?precision=ms`, {
    method: 'POST',
    body: lines,
  });
  expect([response.status, await response.text()]).toEqual([204, '']);
};

const rows = async (query: string): Promise<readonly unknown[][]> => (await sql.exec(query)).dataset;

const columnsOf = async (table: string): Promise<Record<string, unknown>> =>
  Object.fromEntries(
    (await rows(`SELECT "column", type FROM table_columns('${table}')`)).map(([column, type]) => [
      column,
      type,
    ]),
  );

const common = { timestamp: 'TIMESTAMP', uid: 'LONG', target: 'SYMBOL', more_dimensions: 'VARCHAR' };

describe.each([
  ['wide', '2_mon_time_series_1500001.__default__', common],
  ['narrow', '-3_mon_time_series_1500002.__default__', { ...common, metric: 'SYMBOL', value: 'DOUBLE' }],
] satisfies [Layout, string, Record<string, string>][])('a %s table', (layout, tableId, columns) => {
  it('is called exactly as its table_id and has its fixed columns', async () => {
    await tables.createTable(layout, tableId);
    expect(await columnsOf(tableId)).toEqual(columns);
    expect(await tables.names()).toContain(tableId);
  });

  // Delivery is at least once: without upsert keys every redelivery would be rows twice.
  it('stores a row that is written twice once', async () => {
    await tables.createTable(layout, tableId);
    const line = `${tableId},target=a uid=7i 1700000000000\n`;
    await write(line);
    await write(line);
    await write(`${tableId},target=a uid=8i 1700000000000\n`);
    await until('both rows are applied', async () => {
      const [row] = await rows(`SELECT writerTxn, sequencerTxn FROM wal_tables() WHERE name = '${tableId}'`);
      return row !== undefined && Number(row[1]) >= 3 && row[0] === row[1];
    });
    expect(await rows(`SELECT uid FROM "${tableId}" ORDER BY uid`)).toEqual([[7], [8]]);
  });

  it('may be created again, and by several callers at once', async () => {
    await Promise.all(Array.from({ length: 8 }, () => tables.createTable(layout, tableId)));
    expect(await columnsOf(tableId)).toMatchObject(columns);
  });
});

describe('a name that is a word of the SQL of QuestDB', () => {
  const tableId = 'words_time_series_1.__default__';
  const applied = async () => {
    const [row] = await rows(`SELECT writerTxn, sequencerTxn FROM wal_tables() WHERE name = '${tableId}'`);
    return row !== undefined && Number(row[1]) >= 1 && row[0] === row[1];
  };

  // QuestDB forgets the quotes around a word in a condition, and takes it for its own.
  it('has a column that conditions can name, as a metric and as a dimension', async () => {
    const words = (await rows('SELECT keyword FROM keywords()')).map(([word]) => String(word));
    const names = words.filter(isValidName);
    expect(names).toContain('and');
    const registry = registerNames(
      { mon_data_id: 1, metrics: [], dimensions: [] },
      'wide',
      tableId,
      { metricsMax: names.length, dimensionsMax: names.length },
      names,
      names,
      1,
    );
    await tables.createTable('wide', tableId);
    const columns = registry.metrics.map(({ column }, index) => `${column}=${index}`);
    const tags = registry.dimensions.map(({ column }, index) => `,${column}=d${index}`);
    await write(`${tableId}${tags.join('')} uid=7i,${columns.join(',')} 1700000000000\n`);
    await until('the row is applied', applied);
    const period = { since: 1_699_999_999, until: 1_700_000_001 };
    const answers: unknown[] = [];
    for (const [index, dimension] of registry.dimensions.entries()) {
      const metrics = registry.metrics.slice(index, index + 1);
      const filter = [{ place: { column: dimension.column }, operator: '=', values: [`d${index}`] }] as const;
      const query = {
        table: tableId,
        layout: 'wide',
        metrics,
        aggregate: 'avg',
        filter,
        groupBy: [],
        period,
      } as const;
      const asked = metrics.map(({ column }) => column);
      const [row] = await rows(rawSql(query, asked, 1)).catch(() => [[]]);
      answers.push([dimension.name, row?.[1]]);
    }
    expect(answers).toEqual(names.map((name, index) => [name, index]));
  });
});

it('keeps rows for the given days, else without end', async () => {
  await tables.createTable('wide', 'kept_time_series_1.__default__', 30);
  await tables.createTable('wide', 'kept_time_series_2.__default__');
  expect(
    await rows(`SELECT ttlValue, ttlUnit FROM tables() WHERE table_name LIKE 'kept_%' ORDER BY table_name`),
  ).toEqual([
    [30, 'DAY'],
    [0, 'HOUR'],
  ]);
});

describe('tidemark doctor', () => {
  const names = ['a', 'b', 'c'].map((name) => `doctor_${name}.__default__`);
  const [off = '', other = '', well = ''] = names;
  const lookAtTables = async () =>
    (await lookAtQuestdb('questdb', sql)).find(({ name }) => name === 'tables of questdb');

  // By other keys points of different targets overwrite each other, and doctor called such a table healthy.
  it('names tables whose upsert keys are off or others, with the keys and who sets them again', async () => {
    for (const name of names) await tables.createTable('wide', name);
    expect(await lookAtTables()).toMatchObject({
      ok: true,
      detail: expect.stringMatching(/^\d+ tables, at most \d+ commits? behind$/),
    });
    await sql.exec(`ALTER TABLE "${off}" DEDUP DISABLE`);
    await sql.exec(`ALTER TABLE "${other}" DEDUP ENABLE UPSERT KEYS(timestamp, target)`);
    await until('the changes are applied', async () => {
      const behind = await rows(
        `SELECT name FROM wal_tables() WHERE name LIKE 'doctor_%' AND (writerTxn != sequencerTxn OR sequencerTxn = 0)`,
      );
      return behind.every(([name]) => name === well);
    });
    const keysOff = 'upsert keys are off, and must be (timestamp, uid)';
    const keysOther = 'upsert keys are not (timestamp, uid), so points overwrite each other';
    const found = await lookAtTables();
    expect(found).toMatchObject({
      ok: false,
      detail: `${keysOff}: ${off}; ${keysOther}: ${other} (timestamp, target)`,
      remedy: expect.stringContaining('sets their upsert keys again'),
    });
    for (const name of names) await tables.drop(name);
  });
});

describe('an existing table that cannot store exactly once', () => {
  const points = 'timestamp TIMESTAMP, uid LONG, target SYMBOL, more_dimensions VARCHAR';
  it.each([
    ['without WAL', `(${points}) TIMESTAMP(timestamp) PARTITION BY DAY BYPASS WAL`, /not a WAL table/],
    ['without dedup', `(${points}) TIMESTAMP(timestamp) PARTITION BY DAY WAL`, /does not deduplicate/],
    [
      'with other keys',
      `(${points}) TIMESTAMP(timestamp) PARTITION BY DAY WAL DEDUP UPSERT KEYS(timestamp, target)`,
      /upserts on/,
    ],
    [
      'with other columns',
      '(timestamp TIMESTAMP, uid INT, target SYMBOL, more_dimensions VARCHAR) TIMESTAMP(timestamp) PARTITION BY DAY WAL DEDUP UPSERT KEYS(timestamp, uid)',
      /no LONG column uid/,
    ],
    [
      'of another partition size',
      `(${points}) TIMESTAMP(timestamp) PARTITION BY HOUR WAL DEDUP UPSERT KEYS(timestamp, uid)`,
      /partitioned by HOUR/,
    ],
  ])('%s is refused', async (name, definition, why) => {
    const tableId = `wrong_${name.replaceAll(/\W/g, '_')}`;
    await sql.exec(`CREATE TABLE ${tableId} ${definition}`);
    await expect(tables.createTable('wide', tableId)).rejects.toThrow(
      expect.objectContaining({
        kind: 'permanent',
        code: 'questdb_table_unusable',
        message: expect.stringMatching(why),
      }),
    );
  });

  // QuestDB folds case: IF NOT EXISTS accepts a table of a similar name.
  it('under the same name in other letters is refused', async () => {
    await tables.createTable('wide', 'Folded.__default__');
    await expect(tables.createTable('wide', 'folded.__default__')).rejects.toThrow(/exactly this name/);
  });
});

describe('the view of a metric', () => {
  const tableId = '2_mon_time_series_1500010.__default__';
  const view = (column: string): string => `"2_mon_time_series_1500010.${column}"`;

  it('shows the rows of its metric and no other, by the source name', async () => {
    await tables.createTable('narrow', tableId);
    for (const [metric, column] of [
      ['cpu', 'cpu'],
      ['CPU', 'CPU__2'],
      ['__default__', '__default____2'],
    ] as const) {
      await tables.createMetricView(tableId, column, metric);
      await tables.createMetricView(tableId, column, metric);
    }
    await write(
      ['cpu', 'CPU', '__default__']
        .map(
          (metric, index) =>
            `${tableId},target=a,metric=${metric} uid=${index}i,value=${index}.5 1700000000000\n`,
        )
        .join(''),
    );
    await until('three rows', async () => (await rows(`SELECT uid FROM "${tableId}"`)).length === 3);
    expect(await rows(`SELECT uid, value FROM ${view('cpu')}`)).toEqual([[0, 0.5]]);
    expect(await rows(`SELECT uid, value FROM ${view('CPU__2')}`)).toEqual([[1, 1.5]]);
    expect(await rows(`SELECT uid, value FROM ${view('__default____2')}`)).toEqual([[2, 2.5]]);
  });

  // A view has no partitions, and a query that asks for them fails for all tables.
  it('is no table that has rows of its own on the disk', async () => {
    const found = await readTableDays(sql);
    const names = found.map(({ table }) => table);
    expect(found.find(({ table }) => table === tableId)?.days).toMatchObject([
      { day: '2023-11-14', rows: 3 },
    ]);
    expect(names.filter((name) => !name.endsWith('.__default__') && name.startsWith('2_mon'))).toEqual([]);
    expect([...(await tables.ttls()).keys()].toSorted()).toEqual(names.toSorted());
  });

  // The columns of dimensions come with the first row that has them, long after the view was made.
  it('shows dimensions that were added to the table after it', async () => {
    await tables.createTable('narrow', tableId);
    await tables.createMetricView(tableId, 'later', 'later');
    expect((await sql.exec(`SELECT * FROM ${view('later')}`)).columns).not.toContain('module');
    await write(`${tableId},target=a,metric=later,module=db uid=9i,value=1 1700000000000\n`);
    await until('the row', async () => (await rows(`SELECT uid FROM ${view('later')}`)).length === 1);
    const { columns, dataset } = await sql.exec(`SELECT * FROM ${view('later')}`);
    expect(dataset[0]?.[columns.indexOf('module')]).toBe('db');
  });
});

describe('what goes wrong', () => {
  const serve = async (listener: RequestListener): Promise<string> => {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const address = server.address();
    return `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  };

  const failure = async (url: string, statement: string): Promise<unknown> => {
    const client = createQuestdbSql({ url });
    onTestFinished(() => client.close());
    return client.exec(statement).then(
      () => undefined,
      (error: unknown) => error,
    );
  };

  it('is permanent for a statement that QuestDB refuses, in its words', async () => {
    expect(await failure(engines.questdb.url, 'SELECT * FROM nothing_here')).toMatchObject({
      kind: 'permanent',
      code: 'questdb_rejected',
      message: expect.stringContaining('nothing_here'),
    });
  });

  it.each([500, 503])('is transient for an answer %i', async (status) => {
    const host = await serve((_, response) => response.writeHead(status).end('busy'));
    expect(await failure(`http://${host}`, 'SELECT 1')).toMatchObject({
      kind: 'transient',
      code: 'questdb_unavailable',
    });
  });

  it('is transient for a server that cuts the connection or is not there', async () => {
    const host = await serve((request) => request.socket.destroy());
    const transient = { kind: 'transient', code: 'questdb_unavailable' };
    expect(await failure(`http://${host}`, 'SELECT 1')).toMatchObject(transient);
    expect(await failure('http://127.0.0.1:1', 'SELECT 1')).toMatchObject(transient);
  });

  it('sends the user and password of the URL as basic auth', async () => {
    const seen: (string | undefined)[] = [];
    const host = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.end('{"ddl":"OK"}');
    });
    expect(await failure(`http://us%40er:pa%3Ass@${host}`, 'SELECT 1')).toBeUndefined();
    expect(seen).toEqual([`Basic ${Buffer.from('us@er:pa:ss').toString('base64')}`]);
  });
});
