import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseBody } from '../../../../src/rules/points/push-body.ts';
import { NotJson } from '../../../../src/rules/points/push-value.ts';
import { always, trickyText } from '../../../support/properties.ts';

// Python's json writes NaN and infinities bare: its senders would lose whole requests for one value that was not there.
const parse = (text: string): unknown => parseBody(Buffer.from(text));

describe('tolerant JSON', () => {
  const text = fc.oneof(
    trickyText('"\\NaI-,:{}[] '),
    fc.constantFrom(
      'NaN',
      'Infinity',
      '-Infinity',
      ':NaN',
      '":NaN,"',
      '\\',
      '\\"NaN\\"',
      '\u0000',
      '__proto__',
    ),
  );
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.oneof(text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null)),
      fc.array(tie('any'), { maxLength: 4 }),
      fc.array(fc.tuple(text, tie('any')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
    ),
  })).any;

  /** JSON has no -0 as JSON.stringify writes it. */
  const asWritten = (written: unknown): unknown => {
    if (Array.isArray(written)) return written.map(asWritten);
    if (typeof written !== 'object' || written === null) return Object.is(written, -0) ? 0 : written;
    return Object.fromEntries(Object.entries(written).map(([name, member]) => [name, asWritten(member)]));
  };

  // Compared with the written value, not with JSON.parse: V8 14.6 reads a name of one character that is written with an
  // escape as a backslash, once an object of the same names before it had a member of that name.
  it('reads the output of JSON.stringify to the same value', () => {
    always(
      fc.property(value, fc.constantFrom(undefined, 2), (written, indent) => {
        expect(parse(JSON.stringify(written, null, indent))).toEqual(asWritten(written));
      }),
      2000,
    );
  });

  it.each(['\\u0000', '\\"', '\\n', '\\u00e9'])('reads the name %s as JSON defines it', (name) => {
    parse('{"NaN":false,"\\\\":0}');
    expect(Object.keys(Object(parse(`{"NaN":false,"${name}":0}`)))[1]).toBe(JSON.parse(`"${name}"`));
  });

  it.each([
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['[NaN,-Infinity , Infinity]', [Number.NaN, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]],
    ['{"a":NaN,"b":"NaN"}', { a: Number.NaN, b: 'NaN' }],
    ['{"NaN":NaN}', { NaN: Number.NaN }],
    ['{"a\\"":"\\\\","b":NaN}', { 'a"': '\\', b: Number.NaN }],
    ['["\\\\",NaN,"\\\\\\"NaN"]', ['\\', Number.NaN, '\\"NaN']],
    ['[1e400]', [Number.POSITIVE_INFINITY]],
    ['{"a":-0}', { a: -0 }],
  ])('reads %s', (json, expected) => {
    expect(parse(json)).toEqual(expected);
  });

  it.each([
    '',
    '{',
    'nan',
    'inf',
    '+Infinity',
    '--Infinity',
    '-NaN',
    'NaNa',
    'NaNNaN',
    '1NaN',
    '[NaN NaN]',
    '{NaN:1}',
    '{"a":Infinity"b":1}',
    '"NaN',
    '"a\\',
    'undefined',
    '[1,]',
    "{'a':1}",
  ])('refuses %j', (json) => {
    expect(() => parse(json)).toThrow(NotJson);
  });

  /** Milliseconds of processor time, which the system counts in steps of 4. */
  const cost = (json: string): number => {
    const before = process.threadCpuUsage();
    try {
      parse(json);
    } catch {
      // Most of these texts are no JSON: how long it takes to find out is what is measured.
    }
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };

  // One hostile body of 32 MiB must cost what any other costs: at quadratic cost it would stop the receiver for hours.
  it.each([
    ['quotes', '"'],
    ['backslashes', '\\'],
    ['a string of escaped quotes', '\\"'],
    ['empty strings', '"",'],
    ['bare words', 'NaN,'],
    ['minus signs', '-'],
    ['parts of bare words', '-Infinit'],
    ['brackets that open', '['],
  ])('takes time in proportion to the length of %s', (_, unit) => {
    // Up to 0.3 s on a slow machine, of it much for collections; a cost that grows with the square of the length takes half a minute.
    for (const head of ['', '"', '['])
      expect(cost(head + unit.repeat(2_560_000 / unit.length))).toBeLessThan(3_000);
  });
});
