import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkBody, dataIdOf, scanBody } from '../../../../src/ingress/push/decode.ts';
import { parseAround } from '../../../../src/rules/points/push-body.ts';
import { elementsAroundMax, PushScan } from '../../../../src/rules/points/push-scan.ts';
import { hasMoreElements } from '../../../../src/wire/json-elements.ts';
import { always, trickyText } from '../../../support/properties.ts';
import { parseList } from '../../../support/push/objects/push-by-objects.ts';

const elementsMax = 4_000_000;

const names = fc.constantFrom('data_id', 'access_token', 'data', 'd\\u0061ta', 'data\\u005fid', 'x', 'Data');
const texts = trickyText('"\\{}[],: \n').map((text) => JSON.stringify(text));
const scalars = fc.oneof(
  texts,
  fc.constantFrom('1', '1500001', '-1', '1e3', '1.5', 'true', 'false', 'null', '""', '"\\ud800"'),
);
const values = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    scalars,
    fc.array(tie('any'), { maxLength: 4 }).map((items) => `[${items.join(' , ')}]`),
    fc
      .array(fc.tuple(texts, tie('any')), { maxLength: 4 })
      .map((members) => `{${members.map(([name, value]) => `${name} : ${value}`).join(',')}}`),
  ),
})).any;

const blanks = fc.constantFrom('', ' ', '\n\t', '\uFEFF');

/** Bodies in which the names that count come often, again, escaped, and with values of any kind. */
const bodies = fc
  .tuple(blanks, fc.array(fc.tuple(names, fc.oneof(scalars, values)), { maxLength: 6 }))
  .map(([blank, members]) =>
    Buffer.from(`${blank}{${members.map(([name, value]) => `"${name}":${value}`).join(' ,')}}\n`),
  );

/** What JSON.parse makes of a body: of each name its last value. */
const parsed = (body: Buffer): Record<string, unknown> =>
  Object(JSON.parse(body.toString().replace(/^\uFEFF/, '')));

/** The seen of a scan that was given the body in pieces that end at these places. */
const seenOf = (body: Buffer, cuts: readonly number[] = [], stopsAtPair = false) => {
  const scan = new PushScan(elementsMax, stopsAtPair);
  const ends = [...cuts.map((cut) => cut % (body.length + 1)), body.length].sort((a, b) => a - b);
  for (const [index, end] of ends.entries()) scan.feed(body.subarray(ends[index - 1] ?? 0, end));
  const { elements, dataId, token, tokenStart, tokenEnd, data, firstByte, isClosed } = scan;
  const { dataStart, dataEnd } = scan;
  return {
    elements,
    dataId,
    token,
    tokenStart,
    tokenEnd,
    data,
    firstByte,
    isClosed,
    dataStart,
    dataEnd,
  };
};

/** Objects, arrays, members and elements of a value; a list of n elements has one comma fewer. */
const elementsOf = (value: unknown): number => {
  if (Array.isArray(value))
    return value.reduce((sum: number, item) => sum + elementsOf(item), Math.max(1, value.length));
  if (typeof value !== 'object' || value === null) return 0;
  const members = Object.values(value);
  return members.reduce((sum: number, item) => sum + elementsOf(item), Math.max(1, members.length));
};

// The scan decides on the owner of a request, the reader on its stored points: they must never differ.
describe('the scan of a push body', () => {
  it('finds the same in a body that arrives in any pieces', () => {
    always(
      fc.property(bodies, fc.array(fc.nat(), { maxLength: 8 }), fc.boolean(), (body, cuts, stopsAtPair) => {
        expect(seenOf(body, cuts, stopsAtPair)).toEqual(seenOf(body, [], stopsAtPair));
      }),
      2000,
    );
  });

  it('names the type of a data_id as JSON has it, null too', () => {
    const kinds = ['null', '{}', '"x"', 'true', '1.5'].map(
      (value) => seenOf(Buffer.from(`{"data_id":${value}}`)).dataId?.kind,
    );
    expect(kinds).toEqual(['null', 'object', 'string', 'boolean', 'number']);
  });

  it('finds the pair that JSON.parse finds: of each name the last value', () => {
    always(
      fc.property(bodies, (body) => {
        const { dataId, token } = seenOf(body);
        const { data_id, access_token } = parsed(body);
        const found = dataId === undefined ? undefined : dataIdOf(dataId);
        expect(found).toBe(Number.isInteger(data_id) ? data_id : undefined);
        expect(token ?? '').toBe(typeof access_token === 'string' ? access_token : '');
      }),
      2000,
    );
  });

  it('finds the points that JSON.parse finds', () => {
    always(
      fc.property(bodies, (body) => {
        const scan = scanBody(body, elementsMax);
        const { data, ...around } = parsed(body);
        expect(scan.data === 'array').toBe(Array.isArray(data));
        const { data: _, ...read } = Object(parseAround(body, scan));
        expect(read).toEqual(around);
        if (!Array.isArray(data)) return;
        expect(scan.pointsIn(body)).toBe(data.length);
        expect(parseList(body, scan)).toEqual(data);
      }),
      2000,
    );
  });

  it('counts the elements of the body, and so does the count of exports', () => {
    const distinct = fc
      .uniqueArray(fc.tuple(names, values), { selector: ([name]) => JSON.parse(`"${name}"`), maxLength: 5 })
      .filter((members) => !members.some(([, value]) => value.includes('\\u')))
      .map((members) => `{${members.map(([name, value]) => `"${name}":${value}`).join(',')}}`);
    always(
      fc.property(distinct, (text) => {
        const body = Buffer.from(text);
        const { elements } = seenOf(body);
        // A repeated name inside a value builds one member where two are written.
        expect(elements).toBeGreaterThanOrEqual(elementsOf(JSON.parse(text)));
        expect(hasMoreElements(body, elements)).toBe(false);
        expect(hasMoreElements(body, elements - 1)).toBe(true);
      }),
      1000,
    );
  });

  it('reads nothing behind the first pair where that is enough', () => {
    const head = '{"data_id":7,"access_token":"t"';
    const body = Buffer.from(`${head},"data":[${'{},'.repeat(100)}{}],"data_id":8}`);
    expect(seenOf(body, [], true)).toMatchObject({ dataId: { text: '7' }, token: 't', elements: 2 });
    expect(seenOf(body)).toMatchObject({ dataId: { text: '8' }, token: 't' });
  });

  it('refuses a body whose later pair differs from the checked one', () => {
    const body = (second: string): Buffer =>
      Buffer.from(`{"data_id":7,"access_token":"t","data":[1]${second}}`);
    const pair = { dataId: 7, token: 't' };
    const check = (bytes: Buffer) => checkBody(bytes, scanBody(bytes, elementsMax), pair)?.reason;
    expect(check(body(''))).toBeUndefined();
    expect(check(body(',"data_id":7'))).toBeUndefined();
    for (const second of [
      ',"data_id":8',
      ',"data\\u005fid":8',
      ',"access_token":"u"',
      ',"access_token":["t"]',
      ',"data_id":"7"',
    ])
      expect(check(body(second)), second).toBe('credentials_differ');
  });

  it('never throws, for any bytes in any pieces', () => {
    const anything = trickyText('{}[]:,"\\ data_id1', 40).map((text) => Buffer.from(`{${text}`));
    always(
      fc.property(anything, fc.array(fc.nat(), { maxLength: 4 }), (body, cuts) => {
        expect(seenOf(body, cuts)).toEqual(seenOf(body));
      }),
      3000,
    );
  });
});

describe('the number of elements of a push body', () => {
  const pair = '"data_id":7,"access_token":"t"';
  const isTooMuch = (text: string): boolean => scanBody(Buffer.from(text), elementsMax).isTooMuch;
  const many = (part: string, count: number): string => Array.from({ length: count }, () => part).join();

  it('is limited for the whole body, and lower outside of its points', () => {
    expect(isTooMuch(`{${pair},"data":[${many('{}', 1_900_000)}]}`)).toBe(false);
    expect(isTooMuch(`{${pair},"data":[${many('{}', 2_100_000)}]}`)).toBe(true);
    expect(isTooMuch(`{${pair},"x":[${many('0', elementsAroundMax - 100)}],"data":[1]}`)).toBe(false);
    expect(isTooMuch(`{${pair},"x":[${many('0', elementsAroundMax)}],"data":[1]}`)).toBe(true);
    expect(isTooMuch(`{${pair},"data":[1],"x":[${many('0', elementsAroundMax)}]}`)).toBe(true);
  });
});

describe('an escaped text', () => {
  const tokenOf = (written: string) =>
    scanBody(Buffer.from(`{"access_token":"${written}"}`), elementsMax).token;

  it('is what JSON makes of it', () => {
    const written = fc.oneof(
      fc.constantFrom(
        ...String.raw`\" \\ \/ \b \f \n \r \t \u0041 \u00e9 \u6f22 \uD83D\uDE00 \uDFFF \u005c`.split(' '),
      ),
      fc.constantFrom('a', 'é', '漢', '😀', ' '),
    );
    always(
      fc.property(fc.array(written, { maxLength: 20 }), (parts) => {
        expect(tokenOf(parts.join(''))).toBe(JSON.parse(`"${parts.join('')}"`));
      }),
    );
  });

  it('stays as it stands where JSON has no such escape', () => {
    for (const broken of [String.raw`\a`, String.raw`b\u12g4`, String.raw`\n\x`, String.raw`\u12`])
      expect(tokenOf(broken)).toBe(broken);
  });

  // The promise is 20 ms and 5 ms for each MiB; five times as much, because machines that run tests are shared.
  it('costs no more than its bytes, a million times where one name should be', () => {
    const body = Buffer.from(`{${String.raw`"\a"`.repeat(2 ** 18)}`);
    const from = process.threadCpuUsage();
    scanBody(body, elementsMax);
    const { user, system } = process.threadCpuUsage(from);
    expect((user + system) / 1000).toBeLessThan(5 * 25);
  });
});
