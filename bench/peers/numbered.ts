import { Agent, request } from 'undici';
import { createRandom, pushPoints } from '../bodies.ts';
import { spanIdPlaces } from '../load.ts';
import { spanBodies } from '../span-bodies.ts';
import type { Encoding } from '../subjects.ts';

/** The body of a request with this number: its items are numbered from `number × items` on. */
export type NumberedBody = (number: number) => Buffer;

const mark = 987_654_321;

/** Pushes whose items carry their number as `memory_usage`. */
export const numberedPush = (items: number, dataId: number, token: string): NumberedBody => {
  const random = createRandom(20_260_301);
  const points = pushPoints(random, items, Date.now()).map((point) => {
    const text = JSON.stringify(point);
    return text.replace(/"memory_usage":[^,}]+/, `"memory_usage":${mark}`);
  });
  const body = JSON.stringify({ data_id: dataId, access_token: token, data: [] });
  const pieces = `${body.slice(0, -2)}${points.join(',')}]}`.split(String(mark));
  if (pieces.length !== items + 1) throw new Error('not every point has its number');
  return (number) => {
    const first = number * items;
    let text = pieces[0] ?? '';
    for (let index = 1; index < pieces.length; index++) text += `${first + index - 1}${pieces[index]}`;
    return Buffer.from(text);
  };
};

/** Trace requests whose spans carry their number as span id. */
export const numberedSpans = (encoding: Encoding, items: number): NumberedBody => {
  const [template = Buffer.alloc(0)] = spanBodies(encoding, 1, items, Date.now());
  const places = spanIdPlaces(template, encoding);
  if (places.length !== items) throw new Error('not every span has its number');
  return (number) => {
    const body = Buffer.from(template);
    for (const [index, { at }] of places.entries()) {
      // Ids of zeros alone are no ids.
      const id = BigInt(number * items + index + 1);
      if (encoding === 'protobuf') body.writeBigUInt64BE(id, at);
      else body.write(id.toString(16).padStart(16, '0'), at, 'latin1');
    }
    return body;
  };
};

export type NumberedLoad = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: NumberedBody;
  readonly connections: number;
};

/** Sends until `stop`; a connection that breaks loses only its current request. Returns the numbers with an answer 200. */
export const sendNumbered = (
  load: NumberedLoad,
): { readonly acknowledged: ReadonlySet<number>; stop(): Promise<ReadonlySet<number>> } => {
  const agent = new Agent({ connections: load.connections, pipelining: 1 });
  const acknowledged = new Set<number>();
  let next = 0;
  let stopped = false;
  const worker = async (): Promise<void> => {
    while (!stopped) {
      const number = next++;
      try {
        const response = await request(load.url, {
          method: 'POST',
          headers: load.headers,
          body: load.body(number),
          dispatcher: agent,
          headersTimeout: 10_000,
          bodyTimeout: 10_000,
        });
        await response.body.dump();
        if (response.statusCode === 200) acknowledged.add(number);
      } catch {
        // No answer: nothing was acknowledged. Pauses before the next try at an unavailable receiver.
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  };
  const workers = Promise.all(Array.from({ length: load.connections }, worker));
  return {
    acknowledged,
    stop: async () => {
      stopped = true;
      await workers;
      await agent.close();
      return acknowledged;
    },
  };
};
