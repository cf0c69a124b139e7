import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  collectorValues,
  documentName,
  maskDocument,
  md5Of,
  renderDocument,
} from '../../../../src/metadata/refresh/document.ts';

const token = '0123456789abcdef0123456789abcdef';
const defaults = { maxRate: 1000, aheadSecondsMax: 3600 };

const valuesOf = (maxRate = -1, policy: { ahead_seconds_max?: number | null } | undefined = undefined) =>
  collectorValues({ mon_data_id: 1_500_007, token }, { mon_biz_id: 2, max_rate: maxRate }, policy, defaults);

/** What a collector reads of the file. */
const expected = (values: { token: string; qps: number; ahead: number; bizId?: number }) => ({
  type: 'report_v2',
  token: values.token,
  bk_biz_id: values.bizId ?? 2,
  default: {
    processor: [
      {
        name: 'token_checker/proxy',
        config: { type: 'proxy', proxy_dataid: 1_500_007, proxy_token: values.token },
      },
      {
        name: 'rate_limiter/token_bucket',
        config: { type: 'token_bucket', qps: values.qps, burst: values.qps },
      },
      {
        name: 'proxy_validator/common',
        config: { type: 'time_series', version: 'v2', max_future_time_offset: values.ahead },
      },
    ],
  },
});

describe('a collector document', () => {
  it('has the fields and values that the collector reads', () => {
    expect(parse(renderDocument(valuesOf()))).toEqual(expected({ token, qps: 1000, ahead: 3600 }));
  });

  it.each([
    ['the default stands for -1', -1, 1000],
    ['0 is unlimited', 0, 0],
    ['below -1 stays negative: nothing passes', -2, -2],
    ['any other rate is itself', 250, 250],
  ])('has the limits of the report: %s', (_, maxRate, qps) => {
    expect(parse(renderDocument(valuesOf(maxRate)))).toEqual(expected({ token, qps, ahead: 3600 }));
  });

  it.each([
    ['its own bound', { ahead_seconds_max: 60 }, 60],
    ['a bound of nothing', { ahead_seconds_max: 0 }, 0],
    ['no bound', { ahead_seconds_max: null }, 2_147_483_647],
    ['another field only', {}, 3600],
  ])('takes how far ahead a time may be from the policy with %s', (_, policy, ahead) => {
    expect(parse(renderDocument(valuesOf(-1, policy)))).toEqual(expected({ token, qps: 1000, ahead }));
  });

  it('of negative businesses and of business 0 names them', () => {
    for (const bizId of [0, -37]) {
      expect(parse(renderDocument({ ...valuesOf(), bizId }))).toEqual(
        expected({ token, qps: 1000, ahead: 3600, bizId }),
      );
    }
  });

  // The file is configuration: a token that ended its quotes could switch the token checker off.
  it.each(['yaml', 'YAML 1.1'])('keeps any token a text, however it is written (%s)', (dialect) => {
    const hostile = [
      'a"\nb: 1',
      "it's",
      '\\',
      '{{ token }}',
      '%x',
      '# no',
      '\u2028|\u0085\u007f',
      '😀',
      '',
      'null',
    ];
    const options = dialect === 'yaml' ? {} : ({ version: '1.1' } as const);
    const check = (text: string): void => {
      const document = renderDocument({ ...valuesOf(), token: text });
      expect(document).toMatch(/^[\n\x20-\x7e]*$/);
      expect(parse(document, options)).toEqual(expected({ token: text, qps: 1000, ahead: 3600 }));
    };
    hostile.forEach(check);
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), check), { numRuns: 200 });
  });

  it('is the same bytes for the same values, and its md5 is of those bytes', () => {
    const document = renderDocument(valuesOf());
    expect(renderDocument(valuesOf())).toBe(document);
    expect(md5Of(document)).toBe(createHash('md5').update(Buffer.from(document, 'utf8')).digest('hex'));
    expect(documentName(1_500_007, 'bk')).toBe('bk-collector-report-v2-1500007.conf');
  });
});

describe('the view of a document', () => {
  it.each([
    [0, '*'.repeat(32)],
    [4, `0123${'*'.repeat(28)}`],
  ] as const)('shows %i characters of the token and all else', (shown, mask) => {
    const view = maskDocument(renderDocument(valuesOf()), shown);
    expect(parse(view)).toEqual(expected({ token: mask, qps: 1000, ahead: 3600 }));
    expect(view).not.toContain(token.slice(4));
  });

  it('shows nothing of a document in another form', () => {
    for (const foreign of [`token: ${token}`, `a: "${token}"`, `token: "${token}"\nx: ${token}`]) {
      expect(maskDocument(foreign, 4)).toBe('*'.repeat(32));
    }
  });

  it('never shows a hostile token', () => {
    const check = (tail: string): void => {
      const secret = `SECRET"${tail}`;
      expect(maskDocument(renderDocument({ ...valuesOf(), token: secret }), 0)).not.toContain('SECRET');
    };
    fc.assert(fc.property(fc.string(), check), { numRuns: 200 });
  });
});
