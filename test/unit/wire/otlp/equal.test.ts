import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultTimePolicy } from '../../../../src/model/time.ts';
import { hashedBase } from '../../../../src/model/uid.ts';
import { jsonTraces } from '../../../../src/rules/spans/json-traces.ts';
import { protobufTraces } from '../../../../src/rules/spans/protobuf-traces.ts';
import {
  defaultItemLimits,
  type EncodedItems,
  type ItemsContext,
  type ItemsOwner,
} from '../../../../src/wire/otlp/types.ts';
import { encodeOtlpJson, encodeOtlpProtobuf, type OtlpRequest } from '../../../support/otlp/protobuf.ts';
import { anyRequest, arrivedAt } from '../../../support/otlp/requests.ts';
import { always } from '../../../support/properties.ts';

const owners = new Map<string | undefined, ItemsOwner>([
  [undefined, { appId: 1, bizId: 2, fillDimensions: true, policy: defaultTimePolicy }],
  [
    'token-a',
    {
      appId: 70_000_000_000,
      bizId: -5,
      fillDimensions: false,
      policy: { ...defaultTimePolicy, ageMsMax: 86_400_000 },
    },
  ],
  ['token-b', { appId: 3, bizId: 0, fillDimensions: true, policy: defaultTimePolicy }],
]);

const context: ItemsContext = {
  resolve: (token) => owners.get(token) ?? (token === 'token-off' ? 'disabled' : 'invalid'),
  clientIp: '192.0.2.9',
  base: hashedBase(Buffer.alloc(32, 0xff)),
  arrivedAt,
  limits: defaultItemLimits,
};

const anyRequestProperty = (check: (request: OtlpRequest) => void): fc.IProperty<[OtlpRequest]> =>
  fc.property(anyRequest, check);

/** Without what may differ: how an encoding shows what it got. */
const comparable = (encoded: EncodedItems): unknown => ({
  ...encoded,
  examples: encoded.examples.map(({ index, reason, field }) => ({ index, reason, field })),
});

// Two readers and one table: a difference between them would be data that depends on the exporter's encoding.
describe('traces in JSON and in protobuf', () => {
  it('come out as equal runs, blocks, deferred texts and counts', () => {
    always(
      // Byte for byte, the blocks included.
      anyRequestProperty((request) => {
        const json = jsonTraces.encode(encodeOtlpJson(request), context);
        const protobuf = protobufTraces.encode(encodeOtlpProtobuf(request), context);
        expect(comparable(protobuf)).toEqual(comparable(json));
      }),
      400,
    );
  });

  it('are accounted for span by span', () => {
    always(
      anyRequestProperty((request) => {
        const {
          runs,
          items: spans,
          accepted,
          rejected,
          deferred,
        } = jsonTraces.encode(encodeOtlpJson(request), context);
        const sum = (counts: Iterable<number>): number => [...counts].reduce((a, b) => a + b, 0);
        expect(accepted + sum(rejected.values()) + sum(deferred.values())).toBe(spans);
        expect(sum(runs.flatMap(({ parts }) => parts.map(({ rows }) => rows)))).toBe(accepted);
        let next = 0;
        for (const { first, last } of runs) {
          expect(first).toBe(next);
          next = last + 1;
        }
        expect(next).toBe(spans);
      }),
    );
  });
});
