import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isNormalTarget, unknownTarget } from '../../../src/http/request-target.ts';
import { always } from '../../support/properties.ts';
import { otherFormsOf } from '../../support/targets.ts';

// A proxy in front authorizes by the path that it reads. A path with two readings is not a path of Tidemark.
describe('a request target', () => {
  it.each([
    '/',
    '/v2/push/',
    '/v2/push',
    '/v1/traces?a=../b&c=%2e%2e//#',
    '/api/v1/result-tables/2_mon_time_series_1500001.__default__',
    '/api/v1/result-tables/%D1%82%20%2F%25%3A',
    '/api/v1/x/..y/...',
    '/operations/monitor_web.custom_report.resources.CreateCustomTimeSeries',
    'http://elsewhere/v2/push/',
    'https://elsewhere:1/v2/push/?x=//',
    '*',
    unknownTarget,
  ])('is in its normal form: %s', (target) => {
    expect(isNormalTarget(target)).toBe(true);
  });

  it.each([
    ...['/v2/push/', '/v1/traces', '/api/v1/export', '/livez'].flatMap(otherFormsOf),
    '',
    'v2/push/',
    'ftp://elsewhere/v2/push/',
    'http://elsewhere',
    'http:///v2/push/..',
    `/${'x'.repeat(2_048)}`,
  ])('has another form than its normal one: %s', (target) => {
    expect(isNormalTarget(target)).toBe(false);
  });

  it('that is normal has one reading for all that read URLs as browsers do', () => {
    const piece = fc.constantFrom(
      '/',
      '.',
      '..',
      '%',
      '2e',
      '%2e',
      '%2F',
      '%70',
      'push',
      '\\',
      '?',
      '#',
      'v2',
      '\t',
      ';',
      '@',
      ':',
    );
    always(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const target = `/${pieces.join('')}`;
        if (!isNormalTarget(target)) return;
        const [path = ''] = target.split('?');
        expect(new URL(target, 'http://a').pathname).toBe(path);
        expect(new URL(`http://a${target}`).pathname).toBe(path);
      }),
      5000,
    );
  });
});
