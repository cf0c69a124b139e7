import { expect, it } from 'vitest';
import { openOtlpDoor } from '../../../support/otlp/door.ts';
import { goodMetric, metricsOf } from '../../../support/otlp/metric-source.ts';

const timeUnixNano = String(BigInt(Date.now()) * 1_000_000n);
const dataPoints = ['a', 'b', 'c'].map((id) => ({
  ...{ timeUnixNano, asDouble: 1 },
  attributes: [{ key: 'id', value: { stringValue: id } }],
}));
const body = JSON.stringify(metricsOf({ ...goodMetric, gauge: { dataPoints } }));

/** The answer to the same export under this bound of series. */
const answerOf = async (seriesMax: number, isRepeat: boolean): Promise<unknown> => {
  const door = await openOtlpDoor({ seriesMax, publish: async () => isRepeat });
  try {
    return await (await door.post('otel_metrics', body)).json();
  } finally {
    await door.close();
  }
};

// Its sender would take the items that the first answer rejected for stored.
it('the answer to a repeat under other limits says that items rejected before are not stored', async () => {
  expect(await answerOf(1, false)).toMatchObject({ partialSuccess: { rejectedDataPoints: '2' } });
  expect(await answerOf(10, true)).toEqual({
    partialSuccess: {
      rejectedDataPoints: '0',
      errorMessage: expect.stringMatching(
        /^this request was received before: .*; items that were rejected then are not stored, and the numbers may differ from those of the first answer where limits or series have changed$/,
      ),
    },
  });
});
