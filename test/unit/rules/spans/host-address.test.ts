import { describe, expect, it } from 'vitest';
import type { OtlpAttribute } from '../../../support/otlp/protobuf.ts';
import {
  contextWith,
  encodeJson,
  goodSpan,
  onlyRow,
  owner,
  requestOf,
} from '../../../support/otlp/trace-source.ts';

const text = (key: string, value: string): OtlpAttribute => ({ key, value: { stringValue: value } });

describe('net.host.ip', () => {
  const filling = (clientIp: string) =>
    contextWith({ clientIp, resolve: () => ({ ...owner, fillDimensions: true }) });
  const resourceOf = (value: string | undefined, clientIp: string) =>
    onlyRow(
      encodeJson(
        {
          resourceSpans: [
            {
              resource: {
                attributes: [
                  text('a', 'b'),
                  ...(value === undefined ? [] : [text('net.host.ip', value)]),
                  text('c', 'd'),
                ],
              },
              scopeSpans: [{ spans: [goodSpan] }],
            },
          ],
        },
        filling(clientIp),
      ),
    )['ResourceAttributes'];

  it.each([
    [
      'missing',
      undefined,
      [
        ['a', 'b'],
        ['c', 'd'],
        ['net.host.ip', '192.0.2.9'],
      ],
    ],
    [
      'empty',
      '',
      [
        ['a', 'b'],
        ['net.host.ip', '192.0.2.9'],
        ['c', 'd'],
      ],
    ],
    [
      '0.0.0.0',
      '0.0.0.0',
      [
        ['a', 'b'],
        ['net.host.ip', '192.0.2.9'],
        ['c', 'd'],
      ],
    ],
    [
      '127.0.0.1',
      '127.0.0.1',
      [
        ['a', 'b'],
        ['net.host.ip', '192.0.2.9'],
        ['c', 'd'],
      ],
    ],
    [
      'real',
      '10.0.0.7',
      [
        ['a', 'b'],
        ['net.host.ip', '10.0.0.7'],
        ['c', 'd'],
      ],
    ],
  ])('that is %s is filled where it says nothing', (_, value, attributes) => {
    expect(resourceOf(value, '192.0.2.9')).toEqual(attributes);
    expect(resourceOf(value, '::ffff:192.0.2.9')).toEqual(attributes);
  });

  it.each(['127.0.0.1', '0.0.0.0', '::1', ''])(
    'stays as it is when the client’s is a placeholder too (%s)',
    (clientIp) => {
      expect(resourceOf('', clientIp)).toEqual([
        ['a', 'b'],
        ['net.host.ip', ''],
        ['c', 'd'],
      ]);
      expect(resourceOf(undefined, clientIp)).toEqual([
        ['a', 'b'],
        ['c', 'd'],
      ]);
    },
  );

  it('stays as it is for an application that does not want it', () => {
    expect(onlyRow(encodeJson(requestOf(goodSpan)))['ResourceAttributes']).toEqual([
      ['service.name', 'cart'],
    ]);
  });
});
