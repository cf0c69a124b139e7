import { Hono } from 'hono';
import { expect, it } from 'vitest';
import { readJson } from '../../../../src/metadata/body.ts';
import { toProblem } from '../../../../src/metadata/problem.ts';

const api = new Hono();
api.post('/', async (context) => context.json({ read: await readJson(context) }));
api.onError((error, context) => context.json(toProblem(error), 400));

const readOf = async (body: Uint8Array<ArrayBuffer>): Promise<unknown> =>
  (await api.request('/', { method: 'POST', body })).json();

const nameOf = (...bytes: number[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array([...Buffer.from('{"name":"'), ...bytes, ...Buffer.from('"}')]);

it('a body in UTF-8 is read as it is', async () => {
  expect(await readOf(nameOf(0x63, 0xc3, 0xa9))).toEqual({ read: { name: 'c\u00e9' } });
});

// A byte of Latin-1, half of a surrogate pair, an encoding that is too long, and one that is cut.
it.each([[[0xe9]], [[0xed, 0xa0, 0x80]], [[0xc0, 0xaf]], [[0xe2, 0x82]]])(
  'a body with the bytes %j is refused: nothing that its caller did not send is stored',
  async (bytes) => {
    expect(await readOf(nameOf(...bytes))).toMatchObject({
      code: 'body_not_json',
      detail: 'the body is not UTF-8',
    });
  },
);

it('of a repeated field the last one counts', async () => {
  expect(await readOf(new Uint8Array(Buffer.from('{"a":1,"a":2}')))).toEqual({ read: { a: 2 } });
});

it('an empty body counts as an object without fields, and null as null', async () => {
  expect(await readOf(new Uint8Array())).toEqual({ read: {} });
  expect(await readOf(new Uint8Array(Buffer.from('null')))).toEqual({ read: null });
});
