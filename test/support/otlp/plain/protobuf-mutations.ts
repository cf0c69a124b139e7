import { encodeOtlpProtobuf, type OtlpRequest } from '../protobuf.ts';
import { damaged, pick, type Random, rateOf, shuffled, withDeepValues } from './mutations.ts';

/** A field as it will be written: its payload without a length, or the fields of the message that it is. */
type Field = { number: number; type: number; payload: Buffer | Field[] };

/** Which fields of which message are messages. */
const messages: Record<string, Record<number, string>> = {
  request: { 1: 'resourceSpans' },
  logs: { 1: 'resourceLogs' },
  metrics: { 1: 'resourceMetrics' },
  resourceSpans: { 1: 'resource', 2: 'scopeSpans' },
  resource: { 1: 'keyValue' },
  scopeSpans: { 1: 'scope', 2: 'span' },
  resourceLogs: { 1: 'resource', 2: 'scopeLogs' },
  scopeLogs: { 1: 'logScope', 2: 'record' },
  logScope: { 3: 'keyValue' },
  resourceMetrics: { 1: 'resource', 2: 'scopeMetrics' },
  scopeMetrics: { 1: 'logScope', 2: 'metric' },
  metric: { 5: 'numbers', 7: 'numbers', 9: 'histogram', 10: 'exponential', 11: 'summary', 12: 'keyValue' },
  numbers: { 1: 'number' },
  histogram: { 1: 'histogramPoint' },
  exponential: { 1: 'exponentialPoint' },
  summary: { 1: 'summaryPoint' },
  number: { 5: 'exemplar', 7: 'keyValue' },
  histogramPoint: { 8: 'exemplar', 9: 'keyValue' },
  exponentialPoint: { 1: 'keyValue', 8: 'buckets', 9: 'buckets', 11: 'exemplar' },
  summaryPoint: { 6: 'quantile', 7: 'keyValue' },
  exemplar: { 7: 'keyValue' },
  buckets: {},
  quantile: {},
  record: { 5: 'anyValue', 6: 'keyValue' },
  span: { 9: 'keyValue', 11: 'event', 13: 'link', 15: 'status' },
  event: { 3: 'keyValue' },
  link: { 4: 'keyValue' },
  keyValue: { 2: 'anyValue' },
  anyValue: { 5: 'array', 6: 'list' },
  array: { 1: 'anyValue' },
  list: { 1: 'keyValue' },
};

const readVarint = (bytes: Buffer, from: number): { value: bigint; end: number } => {
  let value = 0n;
  for (let at = from, shift = 0n; ; at++, shift += 7n) {
    const byte = bytes[at] ?? 0;
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return { value, end: at + 1 };
  }
};

/** The fields of a message that a test encoded. */
const fieldsOf = (bytes: Buffer, message: string): Field[] => {
  const fields: Field[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = readVarint(bytes, at);
    const number = Number(tag.value >> 3n);
    const type = Number(tag.value & 7n);
    let from = tag.end;
    let end = from + (type === 1 ? 8 : 4);
    if (type === 0) end = readVarint(bytes, from).end;
    else if (type === 2) {
      const length = readVarint(bytes, from);
      from = length.end;
      end = from + Number(length.value);
    }
    const payload = bytes.subarray(from, end);
    const inner = messages[message]?.[number];
    fields.push({ number, type, payload: inner === undefined ? payload : fieldsOf(payload, inner) });
    at = end;
  }
  return fields;
};

/** A varint, sometimes longer than it has to be, and now and then than it may be: ten bytes are the most. */
const varint = (value: bigint, random: Random): Buffer => {
  const bytes: number[] = [];
  for (let rest = value; rest > 0n || bytes.length === 0; rest >>= 7n)
    bytes.push(Number(rest & 0x7fn) | 0x80);
  const most = random(3000) === 0 ? 14 : 10;
  if (most > 10 || random(40) === 0)
    while (bytes.length < most && random(most > 10 ? 9 : 3) > 0) bytes.push(0x80);
  bytes.push((bytes.pop() ?? 0) & 0x7f);
  return Buffer.from(bytes);
};

const write = (fields: readonly Field[], random: Random): Buffer =>
  Buffer.concat(
    fields.flatMap(({ number, type, payload }) => {
      const content = Array.isArray(payload) ? write(payload, random) : payload;
      // Sometimes a length that is too large or too small.
      const length = random(900) === 0 ? content.length + random(5) - 2 : content.length;
      const head = varint((BigInt(number) << 3n) | BigInt(type), random);
      return type === 2 ? [head, varint(BigInt(Math.max(length, 0)), random), content] : [head, content];
    }),
  );

const bytes = (random: Random, length: number): Buffer =>
  Buffer.from(Array.from({ length }, () => random(256)));

/** A number of no field, or now and then of one that has another type. */
const anyNumber = (random: Random): number =>
  random(3) === 0 ? 1 + random(16) : pick(random, [17, 100, 2047, 2048, 2 ** 29 - 1]);

/** A field that is well-formed and means nothing, of any wire type. */
const unknownField = (random: Random): Field => {
  const number = anyNumber(random);
  const type = pick(random, [0, 1, 2, 3, 5]);
  if (type === 0) return { number, type, payload: varint(BigInt(random(2 ** 30)) ** 2n, random) };
  if (type === 2) return { number, type, payload: bytes(random, random(12)) };
  if (type !== 3) return { number, type, payload: bytes(random, type === 1 ? 8 : 4) };
  const inside = Array.from({ length: random(3) }, () => unknownField(random));
  const end: Field = { number: random(20) === 0 ? number + 1 : number, type: 4, payload: Buffer.alloc(0) };
  return { number, type, payload: write([...inside, end], random) };
};

/** Other content for a field that is no message. */
const otherPayload = ({ type }: Field, random: Random): Buffer => {
  if (type === 0) {
    const value = pick(random, [0n, 1n, 2n, 6n, 2n ** 31n, 2n ** 32n + 2n, 2n ** 63n, 2n ** 64n - 1n]);
    return varint(value, random);
  }
  if (type === 2) return random(2) === 0 ? Buffer.from([0x61, 0xff, 0xc3, 0x62]) : bytes(random, random(20));
  return bytes(random, type === 1 ? 8 : 4);
};

const mutate = (field: Field, random: Random, rate: number): Field[] => {
  const payload = Array.isArray(field.payload) ? mutateAll(field.payload, random, rate) : field.payload;
  const same = { ...field, payload };
  const chance = random(2 * rate);
  if (chance === 0) return [];
  if (chance === 1) return [same, same];
  if (chance === 2) return [unknownField(random), same];
  if (chance === 3) return [same, unknownField(random)];
  // The same field once more with other content, so that the last one counts or both are merged.
  if (chance < 7 && Array.isArray(payload))
    return [{ ...field, payload: payload.filter(() => random(2) === 0) }, same];
  if (chance < 7) {
    const other = { ...field, payload: otherPayload(field, random) };
    return random(2) === 0 ? [same, other] : [other, same];
  }
  if (chance === 7) return [{ ...same, type: pick(random, [0, 1, 2, 5]) }];
  return [same];
};

const mutateAll = (fields: readonly Field[], random: Random, rate: number): Field[] => {
  const mutated = fields.flatMap((field) => mutate(field, random, rate));
  return random(8) === 0 ? shuffled(random, mutated) : mutated;
};

/** The request on the wire in a way that no exporter would write it: mostly allowed, sometimes broken. */
export const mutatedProtobuf = (request: OtlpRequest, random: Random): Buffer =>
  mutatedWire(encodeOtlpProtobuf(withDeepValues(request, random)), 'request', random);

/** The same of a message that a test encoded. */
export const mutatedWire = (
  whole: Buffer,
  message: 'request' | 'logs' | 'metrics',
  random: Random,
): Buffer => {
  const fields = fieldsOf(whole, message);
  const written = write(mutateAll(fields, random, rateOf(random)), random);
  return random(4) === 0 ? damaged(written, random) : written;
};
