import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRedaction, redacted } from '../../../src/outcomes/redaction.ts';
import { contextWith, encodeJson, goodSpan, requestOf } from '../../support/otlp/trace-source.ts';

const token = '0123456789abcdef0123456789abcdef';
/** Of another deployment. */
const unknownToken = 'fedcba9876543210fedcba9876543210';
const own = 'the senders own wrong one';
const { text, name, json } = createRedaction((word) => word === token);

const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } });

const textOf = (given: string): string => text(given, 1024, [own]);
const jsonOf = (given: unknown): string => json(given, 1024, [own]);

// What is sampled is kept for 30 days and shown to every viewer: a write token in it is a write token for all of them.
describe('a known credential', () => {
  it.each([
    ['alone', token],
    ['in a sentence', `the token is ${token}, or was`],
    ['behind a scheme', `Bearer ${token}`],
    ['behind a name', `access_token=${token}&x=1`],
    ['behind an unknown name', `another=${token}`],
    ['within a path', `/v2/push/${token}/x`],
    ['within a run of hexadecimal digits', `ff${token}00`],
    ['within a word', `tok_${token}_x`],
    ['in a JSON text within a text', JSON.stringify({ nested: JSON.stringify({ any: token }) })],
    ['in capitals of its own', `${own}`],
  ])('is taken out of a text that holds it %s', (_, given) => {
    expect(textOf(given)).not.toContain(token);
    expect(textOf(given)).not.toContain(own);
    expect(textOf(given)).toContain(redacted);
  });

  it.each([
    ['as a value', { a: token }],
    ['deep down', { a: [{ b: { c: [token] } }] }],
    ['as a name', { [token]: 1 }],
    ['twice', { a: token, b: `${token} ${token}` }],
    ['beyond what is shown of a value', { a: `${'x'.repeat(240)} ${token}` }],
    ['in a list of attributes', { attributes: [{ key: 'k', value: { stringValue: token } }] }],
  ])('is taken out of a value that holds it %s', (_, given) => {
    expect(jsonOf(given)).not.toContain(token.slice(0, 8));
  });

  it.each([
    ['a token', unknownToken],
    ['a token in capitals', unknownToken.toUpperCase()],
    ['a token and a version', `${unknownToken}/1.2`],
    ['a token within others', `agent/1 ${unknownToken}; x`],
    ['the token of an admin', unknownToken.repeat(2)],
  ])('that nobody here knows is taken out of the name of a sender: %s', (_, given) => {
    expect(name(given, 1024)).not.toMatch(/[0-9a-f]{16}/i);
    expect(name(given, 1024)).toContain(redacted);
  });

  it('leaves the names of senders as they are', () => {
    const commit = `agent/${'0123456789'.repeat(4)}`;
    for (const given of ['opentelemetry', 'OTel-OTLP-Exporter-Python/1.30.0', commit, 'deadbeef/1'])
      expect(name(given, 1024)).toBe(given);
  });

  it('is never cut in two so that its beginning stays', () => {
    for (let before = 0; before < 300; before++) {
      const shown = jsonOf({ a: `${' '.repeat(before)}${token}` });
      expect(shown).not.toContain(token.slice(0, 4));
      expect(json({ a: 'y '.repeat(before), b: token }, 256)).not.toContain(token.slice(0, 4));
    }
  });

  it('leaves no beginning of it where the text came cut', () => {
    expect(textOf(`got "${token.slice(0, 20)}…`)).toBe('got "…');
    expect(textOf(`got "${token.slice(0, 20)}…"`)).toBe('got "…"');
    expect(textOf(`${token.slice(0, 20)}… and ${token.slice(0, 9)}…, twice`)).toBe('… and …, twice');
    expect(jsonOf({ a: `${token.slice(0, 20)}…` })).toBe('{"a":"…"}');
    expect(textOf(`${own.slice(0, 14)}…`)).toBe('…');
  });

  // The receiver does not accept it in this form, but its reader has the token.
  it.each([
    ['capitals', token.toUpperCase()],
    ['both cases', token.replaceAll(/[ace]/g, (digit) => digit.toUpperCase())],
    ['capitals within a run', `AB${token.toUpperCase()}cd`],
    ['capitals within a word', `tok_${token.toUpperCase()}_x`],
  ])('is taken out of a text that holds it in %s', (_, given) => {
    for (const shown of [textOf(given), jsonOf({ a: given, [given]: 1 })]) {
      expect(shown.toLowerCase()).not.toContain(token.slice(0, 8));
      expect(shown).toContain(redacted);
    }
  });

  // The bound of what is looked through falls somewhere into it; what was taken out before it brings it into what is shown.
  it.each([token, token.toUpperCase(), 'f0'.repeat(32), own])(
    'is never torn at the bound of a text: %s',
    (secret) => {
      for (let before = 1_900; before < 2_100; before++) {
        const given = `password=${'x'.repeat(before - 60)} ${' '.repeat(50)}${secret}${' more'.repeat(200)}`;
        for (const shown of [textOf(given), jsonOf({ a: given })]) {
          expect(shown.toLowerCase(), `${before} before`).not.toContain(secret.slice(0, 4).toLowerCase());
        }
      }
    },
  );

  it('stays away however long the run of digits is that holds it', () => {
    for (let before = 0; before < 200; before++) {
      const shown = textOf(`x ${'e'.repeat(before)}${token}${'e'.repeat(70)} y`);
      expect(shown, `${before} before`).toBe(`x ${redacted} y`);
    }
  });
});

// Receivers do not have the tokens of the admin API, because KV keeps only digests: every text of their form counts as
// one.
describe('a token of the admin API', () => {
  const adminToken = 'c0ffee00'.repeat(8);

  it.each([
    ['alone', adminToken],
    ['in capitals', adminToken.toUpperCase()],
    ['in a sentence', `it is ${adminToken}!`],
    ['within a run of digits', `0${adminToken}0`],
    ['within a path', `/a/${adminToken}/b`],
    ['cut', `${adminToken.slice(0, 50)}…`],
  ])('is taken out of a text that holds it %s', (_, given) => {
    expect(textOf(given).toLowerCase()).not.toContain('c0ffee');
    expect(jsonOf({ name: given, [given]: [given] }).toLowerCase()).not.toContain('c0ffee');
  });

  it('is distinguished from the ids of traces and spans, which stay', () => {
    const ids = { traceId: '5b8efff798038103d269b633813fc60c', spanId: 'eee19b7ec3c1b174' };
    expect(jsonOf(ids)).toBe(JSON.stringify(ids));
    const parent = `00-${ids.traceId}-${ids.spanId}-01`;
    expect(textOf(parent)).toBe(parent);
    // A commit's id.
    expect(textOf(`at ${ids.traceId}deadbeef`)).toBe(`at ${ids.traceId}deadbeef`);
  });
});

// What an example of a span shows was cut before it was redacted.
it('takes credentials out of examples of spans, torn ones too', () => {
  for (const secret of [token, token.toUpperCase(), 'c0ffee00'.repeat(8)]) {
    for (let before = 900; before < 1_100; before += 3) {
      const long = `token=${'x'.repeat(before - 40)} ${' '.repeat(30)}${secret} more`;
      const span = {
        ...goodSpan,
        spanId: 'no',
        name: long,
        attributes: [attribute('a', long), attribute(long, 'b')],
      };
      const [sample] = encodeJson(requestOf(span), contextWith({ wantsSample: () => true })).samples;
      expect(sample).toBeDefined();
      expect(jsonOf(sample?.item).toLowerCase()).not.toContain(secret.slice(0, 4).toLowerCase());
    }
  }
});

// A sender may put the token of another sender, or a password, under a name that identifies it.
describe('a value under the name of a secret', () => {
  it.each([
    'access_token',
    'token',
    'Authorization',
    'x-mon-token',
    'bk.data.token',
    'mon.data.token',
    'password',
    'api_key',
    'Set-Cookie',
  ])('is removed under %s, for every value', (name) => {
    expect(jsonOf({ [name]: 'hunter2' })).toBe(JSON.stringify({ [name]: redacted }));
    expect(jsonOf({ [name]: { any: 'hunter2' } })).toBe(JSON.stringify({ [name]: redacted }));
    expect(jsonOf({ attributes: [{ key: name, value: { stringValue: 'hunter2' } }] })).not.toContain(
      'hunter2',
    );
    expect(textOf(`x ${name}: hunter2 y`)).toBe(`x ${name}: ${redacted} y`);
    expect(textOf(JSON.stringify({ [name]: 'hunter2' }))).not.toContain('hunter2');
  });

  it('stays where it is a number, a flag or null: these are no credentials', () => {
    expect(jsonOf({ token_count: 5, has_token: true, token: null })).toBe(
      '{"token_count":5,"has_token":true,"token":null}',
    );
  });
});

// A body has 16 MiB and may be as deep as it is long: an example of it must not cost what the body does.
describe('the rest of the value', () => {
  it('is unchanged where there is no secret', () => {
    const point = { metrics: { cpu: 1.5, up: 1e300 }, target: 'a', dimension: { module: 'db', ok: true } };
    expect(jsonOf(point)).toBe(JSON.stringify(point));
    expect(textOf('trace 0123456789abcdef0123456789abcdee, 数据')).toBe(
      'trace 0123456789abcdef0123456789abcdee, 数据',
    );
  });

  it('has at most its limit of bytes, for any input', () => {
    fc.assert(
      fc.property(fc.anything(), fc.string({ unit: 'grapheme' }), (value, given) => {
        expect(Buffer.byteLength(json(value, 256))).toBeLessThanOrEqual(256);
        expect(Buffer.byteLength(text(given, 64))).toBeLessThanOrEqual(64);
      }),
      { numRuns: 500, seed: 7 },
    );
    expect(
      Buffer.byteLength(jsonOf({ a: '数'.repeat(5000), b: Array(5000).fill('数') })),
    ).toBeLessThanOrEqual(1024);
  });

  it('costs the same for a small and for a huge value', () => {
    const deep: unknown[] = [];
    let inner = deep;
    for (let depth = 0; depth < 100_000; depth++) {
      const next: unknown[] = [];
      inner.push(next);
      inner = next;
    }
    const huge = {
      rows: Array.from({ length: 100_000 }, (_, index) => ({ index, text: 'x'.repeat(100) })),
      deep,
    };
    let reads = 0;
    const counted = new Proxy(huge.rows, {
      get: (target, name, receiver): unknown => {
        reads++;
        return Reflect.get(target, name, receiver);
      },
    });
    expect(jsonOf({ rows: counted, deep }).length).toBeLessThanOrEqual(1024);
    expect(reads).toBeLessThan(500);
  });
});
