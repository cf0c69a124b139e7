import { snakeOf } from './json-keys.ts';
import { MalformedBody } from './types.ts';

/** Names of OTLP's JSON that have a second form. */
const twoWords = [
  'resourceSpans',
  'scopeSpans',
  'traceId',
  'spanId',
  'traceState',
  'parentSpanId',
  'startTimeUnixNano',
  'endTimeUnixNano',
  'timeUnixNano',
  'stringValue',
  'boolValue',
  'intValue',
  'doubleValue',
  'bytesValue',
  'arrayValue',
  'kvlistValue',
];
const camelNames = new Map(twoWords.map((name) => [snakeOf(name), name]));

const rawJson: unknown = Reflect.get(JSON, 'rawJSON');

/** A number that JSON.stringify writes as it was written. */
const asWritten = (source: string): unknown =>
  typeof rawJson === 'function' ? Reflect.apply(rawJson, JSON, [source]) : Number(source);

const keepLast = (object: object): void => {
  const names = new Map<string, string>();
  for (const name of Object.keys(object)) {
    const camel = camelNames.get(name) ?? name;
    const earlier = names.get(camel);
    if (earlier !== undefined) Reflect.deleteProperty(object, earlier);
    names.set(camel, name);
  }
};

/**
 * The same JSON with each name once in each object, the last one sent; numbers as written. Slow: used only for a body in which a
 * reader met a repeated name. Throws MalformedBody.
 */
export const withoutRepeats = (body: Buffer): Buffer => {
  try {
    const value: unknown = JSON.parse(
      body.toString('utf8'),
      (_name, member: unknown, context?: { source?: string }) => {
        if (typeof member === 'number') return asWritten(context?.source ?? String(member));
        if (typeof member === 'object' && member !== null && !Array.isArray(member)) keepLast(member);
        return member;
      },
    );
    return Buffer.from(JSON.stringify(value));
  } catch (error) {
    throw new MalformedBody(
      `the body is not JSON: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
};
