import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startMetadataRole } from '../../support/metadata/role.ts';
import { cli, stack } from './stored.ts';

const followed = z.strictObject({
  well: z.boolean(),
  stations: z.array(
    z.strictObject({
      name: z.string(),
      ok: z.boolean().nullable(),
      ms: z.number().min(0),
      detail: z.string(),
    }),
  ),
});

const receivers = () => {
  const { push, otlp } = stack.ingress[0]?.ports ?? {};
  return { push: `--url http://127.0.0.1:${push}`, otlp: `--url http://127.0.0.1:${otlp}` };
};

describe('tidemark push', () => {
  it('sends a point and follows it to its row and to the account, with the time of each station', async () => {
    const { data_source: source, result_table: table } = await stack.createReport('sent');
    const line = `push ${source.mon_data_id} load=1.5 free=7 --target web-1 --dimension module=db ${receivers().push}`;
    const { well, stations } = await cli.json(followed, line);
    expect([well, stations.map(({ name, ok }) => [name, ok])]).toEqual([
      true,
      [
        ['receiver', true],
        ['QuestDB', true],
        ['account', true],
      ],
    ]);
    expect(stations.map(({ ms }) => ms)).toEqual(stations.map(({ ms }) => ms).toSorted((a, b) => a - b));
    const { dataset } = await stack.query(`SELECT load, free, target, module FROM "${table.table_id}"`);
    expect(dataset).toEqual([[1.5, 7, 'web-1', 'db']]);
    expect(await cli.text(line)).toMatch(
      /^ok {6}receiver +\d+ ms {2}200; request \d+\nok {6}QuestDB +\d+ ms {2}a row in "[^"]+", .*\nok {6}account +\d+ ms {2}stored; /,
    );
  });

  it('follows a point with more metrics than a query may have, and refuses a name that is given twice', async () => {
    const id = (await stack.createReport('many metrics')).data_source.mon_data_id;
    const { well } = await cli.json(followed, `push ${id} a=1 b=2 c=3 d=4 e=5 f=6 ${receivers().push}`);
    expect(well).toBe(true);
    for (const twice of ['a=1 b=2 a=3', 'a=1 --dimension a=1 --dimension a=2'])
      expect(await cli.run(`push ${id} ${twice} ${receivers().push}`)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining('a is given twice'),
      });
  });

  it('says that it did not look for the row where queries are off, and that the account counted an item', async () => {
    const id = (await stack.createReport('unseen')).data_source.mon_data_id;
    const off = await startMetadataRole(stack.engines, 'push-off', { TIDEMARK_CONSOLE_EXPLORE: 'off' });
    try {
      const env = { PATH: process.env['PATH'], ...stack.env, TIDEMARK_ADMIN_URL: off.url };
      expect(await cli.run(`push ${id} load=1 ${receivers().push}`, env)).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(
          /^ok .*\n– {7}QuestDB +\d+ ms {2}not looked at: TIDEMARK_CONSOLE_EXPLORE is off\..*\n– {7}account .* the account has counted an item of this owner; .*\n$/,
        ),
      });
    } finally {
      await off.role.stop();
    }
  });

  // The default retention narrows no window of time: the receiver takes the point, and its row never comes.
  it('ends with code 1 and the retention where QuestDB does not keep the day of the point', async () => {
    const keeping = await startMetadataRole(stack.engines, 'push-keeping', {
      TIDEMARK_METADATA_RETENTION_DAYS: '90',
    });
    const env = { PATH: process.env['PATH'], ...stack.env, TIDEMARK_ADMIN_URL: keeping.url };
    const created = await cli.run('report create --biz 2 --name over --json', env);
    await keeping.role.stop();
    const { mon_data_id: id } = z.object({ mon_data_id: z.number() }).parse(JSON.parse(created.stdout));
    // QuestDB ends the days of a table by its newest row.
    await cli.text(`push ${id} load=1 ${receivers().push}`);
    const timestamp = Date.now() - 200 * 86_400_000;
    const line = `push ${id} load=2 --timestamp ${timestamp} ${receivers().push}`;
    const removed = `rows of ${new Date(timestamp).toISOString().slice(0, 10)} are removed by the retention of 90 days`;
    const { code, stdout } = await cli.run(`${line} --json`);
    const { well, stations } = followed.parse(JSON.parse(stdout));
    expect([code, well, stations.map(({ name, ok }) => [name, ok])]).toEqual([
      1,
      false,
      [
        ['receiver', true],
        ['QuestDB', false],
      ],
    ]);
    expect(stations[1]?.detail).toMatch(`stored, and not kept: ${removed}`);
    expect(await cli.run(line)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(`NOT OK +QuestDB .* stored, and not kept: ${removed}`),
    });
  });

  it('ends with code 1 and the reason of the receiver where the point is not stored', async () => {
    const { data_source: source } = await stack.createReport('refused');
    const id = source.mon_data_id;
    for (const [line, why] of [
      [`push ${id} load=1 --timestamp 5 ${receivers().push}`, /timestamp_unit_seconds/],
      [`push ${id} a-b=1 ${receivers().push}`, /metric_name_invalid/],
      [`push ${id} load=1 --token wrong ${receivers().push}`, /401 .*token/],
      [`push ${id} load=1 --url http://127.0.0.1:1`, /no answer from http:\/\/127\.0\.0\.1:1/],
    ] as const) {
      const { code, stdout } = await cli.run(line);
      expect([code, stdout]).toEqual([1, expect.stringMatching(why)]);
      expect(stdout).toMatch(/^NOT OK {2}receiver /);
    }
    expect(await cli.run(`push 1999999 load=1`)).toMatchObject({ code: 1, stdout: '' });
    expect(await cli.run(`push ${id} load=much`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('must be a number'),
    });
  });
});

describe('tidemark trace --send', () => {
  it('sends a span and follows it to its row and to the account', async () => {
    const { app_id: id } = await stack.createApplication('sent');
    const { well, stations } = await cli.json(
      followed,
      `trace --send ${id} --service shop ${receivers().otlp}`,
    );
    expect([well, stations.map(({ name }) => name)]).toEqual([true, ['receiver', 'ClickHouse', 'account']]);
    expect(
      await stack.spansQuery(`SELECT ServiceName, SpanName FROM otel.otel_traces WHERE AppId = ${id}`),
    ).toEqual([{ ServiceName: 'shop', SpanName: 'trial' }]);
  });

  it('ends with code 1 where the span is not stored, and where the words do not fit together', async () => {
    const { app_id: id } = await stack.createApplication('wrong');
    const refused = await cli.run(`trace --send ${id} --token wrong ${receivers().otlp}`);
    expect([refused.code, refused.stdout]).toEqual([1, expect.stringMatching(/^NOT OK {2}receiver .* 401 /)]);
    // A header cannot hold it: nothing was sent, and the receiver was said not to answer.
    expect(await cli.run(`trace --send ${id} --token "ab\ncd" ${receivers().otlp}`)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^tidemark: the write token holds a character that no header may have/),
    });
    for (const line of ['trace', `trace --send ${id} ${'a'.repeat(32)}`])
      expect(await cli.run(line)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('name a trace id, or --send <app_id>'),
      });
  });
});
