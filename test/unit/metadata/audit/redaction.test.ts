import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AuditEntry,
  auditEntrySchema,
  bounded,
  changedFields,
  entryBytesMax,
  mask,
  redact,
  secretsIn,
} from '../../../../src/metadata/audit/entry.ts';
import { always } from '../../../support/properties.ts';

const hexSecret = (length = 32): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length });

const secretName = fc.constantFrom(
  'token',
  'previous_token',
  'previousToken',
  'access_token',
  'X-BK-TOKEN',
  'secret',
  'client_secret',
  'password',
  'Passwords',
  'document',
);

/** A JSON value with `leaf` somewhere within, under any fields. */
const around = (leaf: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc
    .tuple(
      leaf,
      fc.array(fc.oneof(fc.constant('list'), fc.string({ maxLength: 6 })), { maxLength: 6 }),
      fc.jsonValue({ maxDepth: 2 }),
    )
    .map(([inner, path, beside]) =>
      path.reduce<unknown>(
        (value, step) => (step === 'list' ? [beside, value] : { beside, [step || 'x']: value }),
        inner,
      ),
    );

const entry: AuditEntry = {
  audit_id: 'a',
  at: 1,
  actor: { token_id: 1, name: 'first', role: 'admin' },
  operator: null,
  action: 'report.change',
  target: { kind: 'custom_report', id: '7' },
  outcome: 'done',
  changes: [],
  request: null,
};

describe('redaction', () => {
  // A token in the audit log would be readable by everybody who may look at it, for months.
  it('passes no secret under the name of one, at any depth and in any shape', () => {
    always(
      fc.property(
        hexSecret().chain((secret) =>
          fc.tuple(
            fc.constant(secret),
            secretName.chain((name) =>
              around(
                fc
                  .constantFrom<(text: string) => unknown>(
                    (text) => text,
                    (text) => [text],
                    (text) => ({ value: text, more: [text] }),
                    (text) => `Bearer ${text}`,
                  )
                  .map((shape) => ({ [name]: shape(secret) })),
              ),
            ),
          ),
        ),
        ([secret, value]) => {
          expect(JSON.stringify(value)).toContain(secret);
          expect(JSON.stringify(redact(value))).not.toContain(secret);
        },
      ),
      1_000,
    );
  });

  // Not every secret is hexadecimal: a description may contain a token that was chosen by hand.
  it('passes no known secret in free text, of any form', () => {
    always(
      fc.property(
        fc
          .string({ minLength: 8, maxLength: 40 })
          .filter((text) => JSON.stringify(text).length === text.length + 2),
        fc.string({ maxLength: 10 }),
        (secret, text) => {
          const secrets = secretsIn({ data_source: { token: secret } });
          const request = { description: `${text}${secret}${text}`, names: [secret], [secret]: 1 };
          expect(JSON.stringify(redact(request, secrets))).not.toContain(secret);
        },
      ),
    );
  });

  it.each([
    ['null', null],
    ['a number', 12345678],
    ['a short text', 'ab'],
    ['an object', { a: 1 }],
    ['a list', [1, 2]],
    ['nothing', ''],
  ])('masks %s under the name of a secret all the same', (_, value) => {
    expect(redact({ token: value, name: 'n' })).toEqual({ token: mask, name: 'n' });
  });

  it('masks every text of the form of a token, in names too', () => {
    const token = 'ab01'.repeat(8);
    expect(redact({ text: `it is ${token}!`, [token]: 1, n: [token.toUpperCase()] })).toEqual({
      text: `it is ${mask}!`,
      [mask]: 1,
      n: [mask],
    });
  });

  it('leaves everything else as it is', () => {
    const value = {
      token_id: 7,
      name: 'demo',
      tokens_max: 3,
      list: [1, null, { a: 'x' }],
      at: 1.5,
      on: true,
    };
    expect(redact(value)).toEqual(value);
  });

  it('marks values that are nested beyond any record instead of following them', () => {
    const deep = Array.from({ length: 5_000 }).reduce<unknown>((value) => [value], {
      token: 'ab01'.repeat(8),
    });
    expect(JSON.stringify(redact(deep))).toContain('(cut: too deep)');
  });
});

/** CPU time of this thread in milliseconds: what other processes take meanwhile does not count. */
const cpuMsOf = (work: () => void): number => {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
};

const tokenOf = (index: number): string => String(index).padStart(32, '0');

describe('the work of a redaction', () => {
  // It runs before a request is refused, and nothing else of the process runs meanwhile: ten to a hundred times of this
  // is what a product of both numbers costs.
  it.each<[string, unknown]>([
    [
      'records with as many tokens',
      Array.from({ length: 5_000 }, (_, index) => ({
        token: tokenOf(index),
        ...Object.fromEntries(
          Array.from({ length: 20 }, (__, field) => [`f${field}`, `text of record ${index}`]),
        ),
      })),
    ],
    [
      'a body of many short secrets',
      {
        token: Array.from({ length: 5_000 }, (_, index) => `k${String(index).padStart(7, '0')}`),
        x: Array.from({ length: 50_000 }, () => 'a text beside'),
      },
    ],
    [
      'a body of many secrets that begin alike',
      {
        token: Array.from({ length: 500 }, (_, index) => `${'z'.repeat(100)}${index}`),
        x: Array.from({ length: 500 }, () => 'z'.repeat(2_000)),
      },
    ],
    ['a text that is one secret again and again', { token: 'z'.repeat(8), x: 'z'.repeat(2_000_000) }],
    [
      'a body of more secrets than are searched for',
      {
        token: Array.from({ length: 50_000 }, (_, index) => `secret ${index}`),
        x: Array.from({ length: 50_000 }, () => 'a text beside'),
      },
    ],
  ])('grows with the size of %s, not with its square', (_, body) => {
    expect(cpuMsOf(() => redact(body))).toBeLessThan(1_000);
  });

  // A reader has no use for the rest of such a body, and a search for all of them would take the process.
  it('masks all text of a body with more secrets than are searched for', () => {
    const secrets = Array.from({ length: 20_000 }, (_, index) => `secret ${index}`);
    const masked = JSON.stringify(
      redact({ token: secrets, note: 'it is secret 19999!', n: 'short', at: 12 }),
    );
    expect(JSON.parse(masked)).toEqual({ token: mask, note: mask, n: 'short', at: 12 });
  });

  it('leaves the names of fields, and all that is no text, in a body with more secrets than are searched for', () => {
    const secrets = Array.from({ length: 20_000 }, (_, index) => `secret ${index}`);
    const record = { custom_report_id: 7, mon_data_id: 1_500_001, is_enable: true, [secrets[3] ?? '']: 1 };
    expect(redact({ token: secrets, record })).toEqual({
      token: mask,
      record: { custom_report_id: 7, mon_data_id: 1_500_001, is_enable: true, [mask]: 1 },
    });
  });

  it('searches for the tokens of any number of documents, and not for the documents', () => {
    const token = 'chosen-by-hand';
    const documents = Array.from({ length: 1_000 }, (_, index) => ({
      document: `${'x'.repeat(500)}${index}`,
    }));
    expect(redact({ documents, name: `with ${token}`, data_source: { token } })).toEqual({
      documents: mask,
      name: `with ${mask}`,
      data_source: { token: mask },
    });
  });

  it('finds one part where the same secret follows itself', () => {
    expect(secretsIn({ token: 'z'.repeat(8) }).inText('z'.repeat(5_000))).toEqual([[0, 5_000]]);
  });

  it('masks secrets that overlap as a whole', () => {
    const secrets = secretsIn({ tokens: ['password-ab', 'ab-password', 'word-ab-pass'] });
    expect(redact('my password-ab-password here', secrets)).toBe(`my ${mask} here`);
    // Where a text of the form of a token is a part of a secret, the rest of it is masked, too.
    const longer = secretsIn({ token: `prefix-${'ab01'.repeat(8)}` });
    expect(redact(`my prefix-${'ab01'.repeat(8)}.`, longer)).toBe(`my ${mask}.`);
  });
});

describe('changedFields', () => {
  it.each([
    ['equal states', { a: 1, b: [1] }, { a: 1, b: [1] }, { before: {}, after: {} }],
    ['a changed field', { a: 1, b: 2 }, { a: 1, b: 3 }, { before: { b: 2 }, after: { b: 3 } }],
    ['a new field', { a: 1 }, { a: 1, b: 3 }, { before: {}, after: { b: 3 } }],
    ['a field that went', { a: 1, b: 2 }, { a: 1 }, { before: { b: 2 }, after: {} }],
    ['a creation', undefined, { a: 1 }, { before: null, after: { a: 1 } }],
    ['a deletion', { a: 1 }, undefined, { before: { a: 1 }, after: null }],
    ['values that are no objects', 1, [2], { before: 1, after: [2] }],
  ])('%s', (_, before, after, expected) => {
    expect(changedFields(before, after)).toEqual(expected);
  });
});

describe('the bound of an entry', () => {
  const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

  it.each<[string, Partial<AuditEntry>]>([
    [
      'one field',
      { changes: [{ kind: 'k', id: '1', before: null, after: { a: 1, text: 'x'.repeat(2 ** 20) } }] },
    ],
    [
      'many fields',
      {
        changes: [
          {
            kind: 'k',
            id: '1',
            before: Object.fromEntries(Array.from({ length: 50_000 }, (__, index) => [`f${index}`, index])),
            after: null,
          },
        ],
      },
    ],
    [
      'many changes',
      {
        changes: Array.from({ length: 20_000 }, (__, id) => ({
          kind: 'k',
          id: String(id),
          before: {},
          after: {},
        })),
      },
    ],
    ['the request', { request: ['ü'.repeat(2 ** 20)] }],
    ['the operator', { operator: 'x'.repeat(2 ** 20), target: { kind: 'k', id: 'y'.repeat(2 ** 20) } }],
  ])('holds where %s would exceed it, and names the omitted part', (_, large) => {
    const cut = bounded({ ...entry, ...large });
    expect(bytesOf(cut)).toBeLessThanOrEqual(entryBytesMax);
    expect(auditEntrySchema.parse(cut)).toEqual(cut);
    expect(cut.changes_cut ?? JSON.stringify(cut)).toSatisfy(
      (mark) => typeof mark === 'number' || String(mark).includes('(cut: '),
    );
  });

  it('keeps the small fields beside a large one', () => {
    const after = { name: 'demo', text: 'x'.repeat(2 ** 20) };
    const cut = bounded({ ...entry, changes: [{ kind: 'k', id: '1', before: null, after }] });
    expect(cut.changes[0]?.after).toEqual({ name: 'demo', text: '(cut: 1048578 bytes)' });
  });

  it('leaves an entry within it as it is', () => {
    const small = { ...entry, changes: [{ kind: 'k', id: '1', before: { a: 1 }, after: { a: 2 } }] };
    expect(bounded(small)).toEqual(small);
  });
});
