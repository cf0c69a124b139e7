import { afterEach, describe, expect, it } from 'vitest';
import { answersIn, openRaw, type RawConnection } from '../../../support/http/raw-client.ts';
import { doorAppId, doorToken, type OtlpDoorOptions, openOtlpDoor } from '../../../support/otlp/door.ts';

type Door = Awaited<ReturnType<typeof openOtlpDoor>>;
const opened: Door[] = [];
const open = async (options: OtlpDoorOptions = {}): Promise<Door> => {
  const door = await openOtlpDoor(options);
  opened.push(door);
  return door;
};
afterEach(async () => {
  for (const door of opened.splice(0)) await door.close();
});

const body = '{"resourceSpans":[]}';
const token = `X-MON-TOKEN: ${doorToken}`;
/** Its bodies end at no other time than that of laggards. */
const patience = { laggardsMs: 50, allMs: 600_000 };

/** A request whose body has begun, which the receiver reads. */
const begin = async ({ port }: Door, ...fields: string[]): Promise<RawConnection> => {
  const connection = await openRaw(port);
  const head = ['POST /v1/traces HTTP/1.1', 'Host: a', 'Content-Type: application/json', ...fields];
  const own = ['Expect: 100-continue', `Content-Length: ${body.length}`];
  connection.send(`${[...head, ...own].join('\r\n')}\r\n\r\n`);
  await connection.until('100 Continue\r\n\r\n');
  connection.send(body.slice(0, 5));
  return connection;
};

const answerOf = async (connection: RawConnection) =>
  answersIn((await connection.ended).replace('HTTP/1.1 100 Continue\r\n\r\n', ''));

const refusal = { status: 503, headers: { connection: 'close', 'retry-after': '1' } };

// Nobody listens until the last connection is closed: one sender of a byte a second kept all others out for ten seconds.
describe('a receiver that stops waits no more than a moment for', () => {
  it('a body without a valid credential, which is refused once', async () => {
    const door = await open({ now: () => 0 });
    const trickling = await begin(door);
    const ended = door.drain(patience);
    expect(await answerOf(trickling)).toMatchObject([refusal]);
    await ended;
    expect(door.refused).toEqual([{ reason: 'not_stored', owner: 0, items: 0 }]);
    expect(await door.answered()).toEqual({ 503: 1 });
  });

  it('a slow body of a known sender, which is refused once', async () => {
    const door = await open({ now: () => Number.MAX_SAFE_INTEGER });
    const trickling = await begin(door, token);
    const ended = door.drain(patience);
    const [answer] = await answerOf(trickling);
    expect(answer).toMatchObject(refusal);
    expect(answer?.body).toContain('the receiver stops');
    await ended;
    expect(door.refused).toEqual([{ reason: 'not_stored', owner: doorAppId, items: 0 }]);
    expect(await door.answered()).toEqual({ 503: 1 });
  });

  it('the rest of a header', async () => {
    const door = await open();
    const half = await openRaw(door.port);
    half.send('POST /v1/traces HTTP/1.1\r\nHost: a\r\n\r\nPOST /v1/tra');
    await half.until('HTTP/1.1 415');
    const ended = door.drain(patience);
    expect((await answerOf(half)).map(({ status }) => status)).toEqual([415, 503]);
    await ended;
    expect(await door.ended()).toEqual({ header_timeout: 1 });
  });

  it('the rest of a body that it has refused, and does not refuse it again', async () => {
    const door = await open();
    const refused = await openRaw(door.port);
    refused.send('POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{');
    await refused.until('HTTP/1.1 415');
    const ended = door.drain(patience);
    expect((await answerOf(refused)).map(({ status }) => status)).toEqual([415]);
    await ended;
    expect(door.refused).toEqual([{ reason: 'content_type_unsupported', owner: 0, items: 0 }]);
    expect(await door.answered()).toEqual({ 415: 1 });
    expect(await door.ended()).toEqual({ body_refused: 1 });
  });
});

it('a receiver that stops waits for a fast body of a known sender, and stores it', async () => {
  const door = await open({ now: () => 0 });
  const honest = await begin(door, token);
  const trickling = await begin(door);
  const ended = door.drain(patience);
  expect(await answerOf(trickling)).toMatchObject([refusal]);
  honest.send(body.slice(5));
  expect(await answerOf(honest)).toMatchObject([{ status: 200, headers: { connection: 'close' } }]);
  await ended;
  expect(await door.answered()).toEqual({ 200: 1, 503: 1 });
});
