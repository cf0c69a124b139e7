import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Content,
  type ContentEncoding,
  contentEncodings,
  contents,
  matrixBody,
  matrixLimits,
} from '../support/otlp/bodies.ts';
import { contentTypes, type Encoding, type OtlpAnswer, wholeStatusOf } from '../support/otlp/client.ts';
import { startTraceStack, type TraceStack } from '../support/otlp/trace-stack.ts';

// Every answer of the receiver to every kind of request, from the product of what requests differ in (architecture 4.5:
// H2, H3, H5, H8, H9, H11, H12): a code, a type or an encoding that is wrong makes some exporter drop what it should
// send again, or send again what will never be taken.

const methods = ['POST', 'GET', 'PUT', 'OPTIONS'] as const;
type Method = (typeof methods)[number];

const types = {
  json: 'application/json',
  'json with a charset': 'application/json; charset=utf-8',
  'json in odd case': 'Application/JSON',
  protobuf: 'application/x-protobuf',
  text: 'text/plain',
  none: undefined,
} as const;
type TypeName = keyof typeof types;
const typeNames = Object.keys(types).filter((name): name is TypeName => Object.hasOwn(types, name));

type Combination = {
  readonly method: Method;
  readonly type: TypeName;
  readonly how: ContentEncoding;
  readonly content: Content;
};

const combinations: Combination[] = methods.flatMap((method) =>
  typeNames.flatMap((type) =>
    contentEncodings.flatMap((how) => contents.map((content) => ({ method, type, how, content }))),
  ),
);

const encodingOf = (type: TypeName): Encoding => (type === 'protobuf' ? 'protobuf' : 'json');

type Expected = { readonly status: number; readonly rejected?: number };

/** What a request that may be read is answered, after everything that refuses it unread. */
const expectedOfBody = ({ type, how, content }: Combination): Expected => {
  if (content === 'oversize' || (content === 'bomb' && how === 'identity')) return { status: 413 };
  if (how.startsWith('corrupt')) return { status: 400 };
  // The limit is reached before the end that is missing.
  if (content === 'bomb') return { status: 413 };
  if (how.startsWith('truncated')) return { status: 400 };
  // No bytes are the empty message of protobuf, and no JSON.
  if (content === 'empty') return { status: type === 'protobuf' ? 200 : 400 };
  if (content === 'good') return { status: 200 };
  return { status: 200, rejected: content === 'all bad' ? 2 : 1 };
};

const expectedOf = (combination: Combination): Expected => {
  const { method, type, how } = combination;
  if (method === 'OPTIONS') return { status: 204 };
  if (method !== 'POST') return { status: 405 };
  if (type === 'text' || type === 'none' || how === 'unknown') return { status: 415 };
  return expectedOfBody(combination);
};

const codes: Readonly<Record<number, number>> = { 400: 3, 405: 12, 413: 3, 415: 3 };

/** The contents of a body, read by an independent decoder where there is one. */
const decoded = (encoding: Encoding, answer: OtlpAnswer): unknown => {
  if (answer.status === 204) return answer.bytes.toString('latin1');
  if (answer.status !== 200) return wholeStatusOf(encoding, answer);
  if (answer.bytes.length === 0) return {};
  const serializer = encoding === 'json' ? JsonTraceSerializer : ProtobufTraceSerializer;
  const { partialSuccess }: { partialSuccess?: { rejectedSpans?: unknown; errorMessage?: unknown } } =
    serializer.deserializeResponse(answer.bytes);
  if (partialSuccess === undefined) return {};
  return { rejected: Number(partialSuccess.rejectedSpans), says: typeof partialSuccess.errorMessage };
};

/** What `decoded` should be. */
const meant = ({ status, rejected }: Expected, message: unknown): unknown => {
  if (status === 204) return '';
  if (status === 200) return rejected === undefined ? {} : { rejected, says: 'string' };
  const code = codes[status];
  if (status !== 400) return { code, message };
  const fieldViolations = [{ field: 'body', description: message }];
  const details = [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }];
  return { code, message, details };
};

/** The headers of an answer that the test checks. */
const shownHeaders = ({ headers }: OtlpAnswer): Record<string, unknown> => ({
  type: headers['content-type'],
  origin: headers['access-control-allow-origin'],
  exposed: String(headers['access-control-expose-headers']).includes('Retry-After'),
  allow: headers['allow'],
  preflight: String(headers['access-control-allow-methods'] ?? ''),
});

const meantHeaders = ({ status }: Expected, encoding: Encoding): Record<string, unknown> => ({
  type: status === 204 ? undefined : contentTypes[encoding],
  origin: '*',
  exposed: true,
  allow: status === 405 || status === 204 ? 'POST, OPTIONS' : undefined,
  preflight: status === 204 ? 'POST' : '',
});

let on: TraceStack;
let token: string;
let appId: number;
const answers = new Map<Combination, OtlpAnswer>();
const start = BigInt(Date.now()) * 1_000_000n;
let slowestMs = 0;
let peakBytesBefore = 0;
let peakBytesAfter = 0;
const agent = new Agent({ keepAlive: true, maxSockets: 8 });

const statusFile = (name: string): string => `/proc/${on.stack.ingress[0]?.pid ?? 0}/${name}`;

/** The most memory that ingress has held since the last reset, as Linux counts it. */
const peakBytes = (): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(statusFile('status'), 'utf8'))?.[1]) * 1024;
const resetPeak = (): void => writeFileSync(statusFile('clear_refs'), '5');

const send = (
  method: string,
  headers: Readonly<Record<string, string | number>>,
  body: Buffer,
): Promise<OtlpAnswer> =>
  new Promise((resolve, reject) => {
    const sent = request(on.url, { method, agent, headers: { ...headers, 'content-length': body.length } });
    sent.on('error', reject).on('response', (response) => {
      const chunks: Buffer[] = [];
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('error', reject)
        .on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes: Buffer.concat(chunks),
          }),
        );
    });
    sent.end(body);
  });

const sendCombination = async (combination: Combination, number: number): Promise<void> => {
  const { method, type, how, content } = combination;
  const { body, contentEncoding } = matrixBody(how, content, encodingOf(type), start, number);
  const headers: Record<string, string> = { 'x-mon-token': token, 'content-encoding': contentEncoding };
  const contentType = types[type];
  if (contentType !== undefined) headers['content-type'] = contentType;
  const began = performance.now();
  answers.set(combination, await send(method, headers, body));
  slowestMs = Math.max(slowestMs, performance.now() - began);
};

beforeAll(async () => {
  on = await startTraceStack((text) =>
    text
      .replace(/body_bytes_max: \S+/, `body_bytes_max: '${matrixLimits.bodyBytesMax}'`)
      .replace(/inflated_bytes_max: \S+/, `inflated_bytes_max: '${matrixLimits.inflatedBytesMax}'`),
  );
  ({ token, app_id: appId } = await on.application());
  // What every process takes once (compiled code, buffers that stay) is not what requests cost.
  const warm = { method: 'POST', type: 'json', how: 'gzip', content: 'oversize' } as const;
  for (let count = 0; count < 8; count++) await sendCombination(warm, count);
  slowestMs = 0;
  resetPeak();
  peakBytesBefore = peakBytes();
  const left = combinations.entries();
  const worker = async (): Promise<void> => {
    for (const [number, combination] of left) await sendCombination(combination, number);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  peakBytesAfter = peakBytes();
});
afterAll(async () => {
  agent.destroy();
  await on?.stop();
});

describe.each(methods)('%s', (method) => {
  it.each(typeNames)('of type %s has the right answer for every encoding and content', (type) => {
    const encoding = encodingOf(type);
    const wrong: unknown[] = [];
    const own = combinations.filter((each) => each.method === method && each.type === type);
    expect(own).toHaveLength(contentEncodings.length * contents.length);
    for (const combination of own) {
      const answer = answers.get(combination);
      if (answer === undefined) throw new Error('not sent');
      const expected = expectedOf(combination);
      const says = answer.status === expected.status ? decoded(encoding, answer) : answer.bytes.toString();
      const message = Object(says).message;
      const seen = [answer.status, shownHeaders(answer), says, /\w+ \w+/.test(message ?? 'a success')];
      const wanted = [expected.status, meantHeaders(expected, encoding), meant(expected, message), true];
      if (!isSame(seen, wanted)) wrong.push({ combination, seen, wanted });
    }
    expect(wrong).toEqual([]);
  });
});

const isSame = (a: unknown, b: unknown): boolean => {
  try {
    expect(a).toEqual(b);
    return true;
  } catch {
    return false;
  }
};

describe('after all of them', () => {
  it('exactly the valid spans of the requests with 200 are stored', async () => {
    const names = combinations.flatMap((combination, number) =>
      combination.content.endsWith('bad') || combination.content === 'good'
        ? expectedOf(combination).status === 200 && combination.content !== 'all bad'
          ? [`span ${number}`]
          : []
        : [],
    );
    const rows = await on.storedSpans({ app_id: appId, token });
    expect(rows.map((row) => String(row['SpanName'])).toSorted()).toEqual(names.toSorted());
    expect(names.length).toBeGreaterThan(30);
  });

  // A megabyte that inflates to 32 GiB stops at the limit: 40 of them, eight at a time, cost little memory and little time.
  it('the receiver has never held much more than before, and no answer took long', () => {
    expect((peakBytesAfter - peakBytesBefore) / 2 ** 20).toBeLessThan(128);
    expect(slowestMs).toBeLessThan(20_000);
  });
});
