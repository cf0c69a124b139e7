import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { sendRaw } from '../otlp/client.ts';
import type { TokenTraffic } from '../outcomes/token-traffic.ts';
import { waitFor } from '../wait.ts';
import { createPushClient, type PushRequest } from './client.ts';

/**
 * Pushes of every kind: taken, refused as a whole, in part, and what is no push at all. Answers the table whose dimension holds a token,
 * and the data id whose one sender calls itself by a token.
 */
export const sendPushes = async ({
  stack,
  secrets,
  answers,
  misplace,
  newReport,
}: TokenTraffic): Promise<{ plainTable: string; namedByToken: number }> => {
  const port = stack.ingress[0]?.ports['push'] ?? 0;
  const client = createPushClient(port);
  const send = async (request: PushRequest): Promise<number> => {
    const { status, text, headers } = await client.send(request);
    answers.push(`${text} ${JSON.stringify(headers)}`);
    return status;
  };
  const report = await newReport('plain');
  const { mon_data_id: dataId, token } = report.data_source;
  const good = { metrics: { cpu: 1 }, target: 'a', timestamp: Date.now() };
  const bodyOf = (change: object = {}): string =>
    JSON.stringify({ data_id: dataId, access_token: token, data: [good], ...change });

  expect(await send({ body: bodyOf() })).toBe(200);
  expect(
    await send({ body: bodyOf(), headers: { 'idempotency-key': secrets.invent('an Idempotency-Key') } }),
  ).toBe(200);
  expect(await send({ body: bodyOf({ access_token: secrets.invent('a wrong access_token') }) })).toBe(401);
  const unknown = { data_id: 2_000_000, access_token: secrets.invent('access_token of no data id') };
  expect(await send({ body: bodyOf(unknown) })).toBe(401);
  for (const wrong of [
    [secrets.invent('access_token in an array')],
    { a: secrets.invent('access_token in an object') },
  ])
    expect(await send({ body: bodyOf({ access_token: wrong }) })).toBe(401);
  const elsewhere = { access_token: undefined, token: secrets.invent('token under another name') };
  expect(await send({ body: bodyOf(elsewhere) })).toBe(401);
  expect(await send({ body: bodyOf({ data_id: secrets.invent('data_id that is a token') }) })).toBe(400);
  expect(await send({ body: bodyOf().slice(0, -5) })).toBe(400);
  expect(await send({ body: `[${bodyOf()}]` })).toBe(400);
  expect(await send({ body: `${bodyOf()} ${secrets.invent('text behind the body')}` })).toBe(400);
  expect(await send({ body: bodyOf(), headers: { 'content-encoding': 'gzip' } })).toBe(400);
  expect(
    await send({ body: gzipSync(bodyOf()).subarray(0, -9), headers: { 'content-encoding': 'gzip' } }),
  ).toBe(400);
  expect(
    await send({ body: bodyOf(), headers: { 'content-encoding': secrets.invent('a Content-Encoding') } }),
  ).toBe(415);
  expect(await send({ method: 'PUT', body: bodyOf() })).toBe(405);
  expect(await send({ path: `/v2/push/?access_token=${secrets.invent('a query')}`, body: bodyOf() })).toBe(
    200,
  );
  expect(await send({ path: `/v2/push/${secrets.invent('a path')}`, body: bodyOf() })).toBe(404);
  for (const name of [
    'x-mon-token',
    'x-bk-token',
    'authorization',
    'cookie',
    'user-agent',
    'x-forwarded-for',
  ]) {
    const headers = { [name]: secrets.invent(`a header ${name} of a push`) };
    expect(await send({ body: bodyOf(), headers })).toBe(200);
  }

  // Usage names the last sender of a minute: here it is the only one.
  const calling = (await newReport('of a sender that calls itself by a token')).data_source;
  expect(
    await send({
      body: bodyOf({ data_id: calling.mon_data_id, access_token: calling.token }),
      headers: { 'user-agent': secrets.invent('the name of a sender') },
    }),
  ).toBe(200);

  // Points that are dropped, deferred, and refused by the database: the token among them is the sender's own.
  const odd = [
    misplace('a point that is a text'),
    { ...good, target: { x: misplace('a target that is an object') } },
    { ...good, metrics: { cpu: misplace('a value') } },
    { ...good, metrics: { [`x-${misplace('a metric of no valid name')}`]: 1 } },
    { ...good, dimension: [misplace('dimensions that are an array')] },
    { ...good, timestamp: misplace('a timestamp') },
  ];
  expect(await send({ body: bodyOf({ data: [good, ...odd] }) })).toBe(200);
  expect(await send({ body: bodyOf({ data: odd }) })).toBe(400);
  const dimension = { access_token: misplace('a dimension') };
  expect(await send({ body: bodyOf({ data: [{ ...good, dimension }] }) })).toBe(200);

  const poisoned = await newReport('poisoned');
  await stack.query(`ALTER TABLE "${poisoned.result_table.table_id}" ADD COLUMN odd UUID`);
  const refused = { ...poisoned.data_source, data: [{ ...good, metrics: { odd: 1 } }] };
  expect(
    await send({
      body: JSON.stringify({
        data_id: refused.mon_data_id,
        access_token: refused.token,
        data: refused.data,
      }),
    }),
  ).toBe(200);

  const disabled = await newReport('disabled');
  await stack.api('POST', `/api/v1/custom-reports/${disabled.custom_report.custom_report_id}/disable`, {});
  const { mon_data_id: disabledId, token: disabledToken } = disabled.data_source;
  await waitFor('the disabled data id is refused', 60_000, async () => {
    return (await send({ body: bodyOf({ data_id: disabledId, access_token: disabledToken }) })) === 403;
  });
  client.close();
  const raw = secrets.invent('a request that is not HTTP');
  for (const bytes of [
    `POST /v2/push/?t=${raw} HTTP/1.1\r\nHost: a\r\nX-Mon-Token ${raw}\r\n\r\n`,
    `${raw}\r\n\r\n`,
    `POST /v2/push/ HTTP/1.1\r\nHost: a\r\nContent-Length: ${raw}\r\n\r\n`,
  ])
    answers.push(await sendRaw(port, bytes));
  return { plainTable: report.result_table.table_id, namedByToken: calling.mon_data_id };
};
