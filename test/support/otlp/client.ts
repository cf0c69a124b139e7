import { connect } from 'node:net';
import { Agent, request } from 'undici';
import { encodeOtlpJson, encodeOtlpProtobuf, type OtlpRequest } from './protobuf.ts';

/** How a request goes over the wire, and so its answer. */
export type Encoding = 'json' | 'protobuf';
export const encodings = ['json', 'protobuf'] as const satisfies readonly Encoding[];

export const contentTypes = { json: 'application/json', protobuf: 'application/x-protobuf' } as const;

export const encode = (encoding: Encoding, body: OtlpRequest): Buffer =>
  encoding === 'json' ? encodeOtlpJson(body) : encodeOtlpProtobuf(body);

export type OtlpAnswer = {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
};

export type OtlpSend = {
  readonly method?: 'POST' | 'GET' | 'PUT' | 'DELETE' | 'OPTIONS';
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
};

/** An exporter that sends exactly the given request. */
export type OtlpClient = { send(what: OtlpSend): Promise<OtlpAnswer>; close(): Promise<void> };

export const createOtlpClient = (port: number): OtlpClient => {
  const dispatcher = new Agent();
  return {
    send: async ({ method = 'POST', path = '/v1/traces', headers = {}, body }) => {
      const answer = await request(`http://127.0.0.1:${port}${path}`, {
        method,
        headers,
        body: body ?? null,
        dispatcher,
      });
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      return { status: answer.statusCode, headers: answer.headers, bytes };
    },
    close: () => dispatcher.close(),
  };
};

/** The fields of one protobuf message that holds varints and byte strings alone, the last of each number. */
const fieldsOf = (bytes: Buffer): Map<number, bigint | Buffer> => {
  const fields = new Map<number, bigint | Buffer>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error('the message ends within a varint');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    if ((tag & 7) === 0) fields.set(tag >> 3, varint());
    else if ((tag & 7) === 2) {
      const end = Number(varint()) + at;
      if (end > bytes.length) throw new Error('the message ends within a byte string');
      fields.set(tag >> 3, bytes.subarray(at, end));
      at = end;
    } else throw new Error(`wire type ${tag & 7} was not expected`);
  }
  return fields;
};

const textOf = (field: bigint | Buffer | undefined): string => {
  if (typeof field === 'bigint') throw new Error('expected text');
  return field?.toString('utf8') ?? '';
};

const bytesOf = (field: bigint | Buffer | undefined): Buffer => {
  if (Buffer.isBuffer(field)) return field;
  throw new Error('expected a byte string');
};

/** google.protobuf.Any of a google.rpc.BadRequest with one violation, in the form that JSON gives it. */
const detailOf = (any: Buffer): unknown => {
  const { 1: type, 2: value, ...others } = Object.fromEntries(fieldsOf(any));
  const { 1: violation, ...rest } = Object.fromEntries(fieldsOf(bytesOf(value)));
  const { 1: field, 2: description, ...more } = Object.fromEntries(fieldsOf(bytesOf(violation)));
  const fieldViolations = [{ field: textOf(field), description: textOf(description), ...more }];
  return { '@type': textOf(type), fieldViolations, ...rest, ...others };
};

/** google.rpc.Status of a refusal, in the form that JSON gives it; every key it has, so that a stray one is seen. */
export const wholeStatusOf = (encoding: Encoding, { bytes }: OtlpAnswer): Record<string, unknown> => {
  if (encoding === 'json') return JSON.parse(bytes.toString('utf8'));
  const { 1: code, 2: message, 3: detail, ...rest } = Object.fromEntries(fieldsOf(bytes));
  const details = detail === undefined ? {} : { details: [detailOf(bytesOf(detail))] };
  return { code: Number(code), message: textOf(message), ...details, ...rest };
};

/** The same without the details that a 400 has. */
export const statusOf = (encoding: Encoding, answer: OtlpAnswer): Record<string, unknown> => {
  const { details: _, ...status } = wholeStatusOf(encoding, answer);
  return status;
};

/** The contents of a partial_success: `rejectedSpans` as decimal text; in JSON each signal has a name of its own for it. */
export type PartialSuccess = { readonly rejectedSpans: string; readonly errorMessage: string };

/** The partial_success of the response of an export; undefined where there is none and nothing else either. */
export const partialOf = (
  encoding: Encoding,
  { bytes }: OtlpAnswer,
  rejectedField = 'rejectedSpans',
): PartialSuccess | undefined => {
  if (encoding === 'json') {
    const { partialSuccess, ...rest }: { partialSuccess?: Record<string, string> } = JSON.parse(
      bytes.toString('utf8'),
    );
    if (Object.keys(rest).length > 0) throw new Error(`unexpected: ${Object.keys(rest)}`);
    if (partialSuccess === undefined) return undefined;
    const { [rejectedField]: rejectedSpans = '', errorMessage = '', ...more } = partialSuccess;
    if (Object.keys(more).length > 0) throw new Error(`unexpected: ${Object.keys(more)}`);
    return { rejectedSpans, errorMessage };
  }
  if (bytes.length === 0) return undefined;
  const { 1: partial, ...rest } = Object.fromEntries(fieldsOf(bytes));
  if (Object.keys(rest).length > 0 || !Buffer.isBuffer(partial)) throw new Error('no response of an export');
  const fields = fieldsOf(partial);
  return { rejectedSpans: String(fields.get(1) ?? 0n), errorMessage: textOf(fields.get(2)) };
};

/** Sends any bytes, and returns all that the server sends until it closes. */
export const sendRaw = async (port: number, bytes: string): Promise<string> => {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  socket.end(bytes);
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
};
