import { describe, expect, it } from 'vitest';
import { applicationPipelines, type Pipeline, pipelines } from '../../../src/model/signals.ts';
import { createRedaction } from '../../../src/outcomes/redaction.ts';
import { createSamples, type Sample, sampleBytesMax, sampleLimits } from '../../../src/outcomes/samples.ts';

const token = '0123456789abcdef0123456789abcdef';

const started = () => {
  const clock = { ms: Date.UTC(2026, 10, 20, 13, 30) };
  const lost = { rows: 0 };
  const samples = createSamples({
    now: () => clock.ms,
    redaction: createRedaction((text) => text === token),
    onLost: (rows) => {
      lost.rows += rows;
    },
  });
  return { clock, samples, lost };
};

const sample = (change: Partial<Sample> = {}): Sample => ({
  pipeline: 'metrics',
  owner: 1500001,
  stage: 'receiver',
  reason: 'metrics_empty',
  ordinal: 3,
  field: 'metrics',
  value: {},
  detail: 'it is empty',
  payload: { metrics: {} },
  request: '1099511627776',
  sender: '10.0.0.1',
  sdk: 'curl/8.5.0',
  ...change,
});

describe('the number of examples', () => {
  it('is a few of each owner and reason a minute', () => {
    const { clock, samples } = started();
    const wanted = (owner: number, reason: string, pipeline: Pipeline = 'metrics'): number =>
      Array.from({ length: 20 }, () => samples.wants(pipeline, owner, reason)).filter(Boolean).length;
    expect(wanted(1, 'a')).toBe(sampleLimits.ofReasonPerMinute);
    expect(wanted(1, 'b')).toBe(sampleLimits.ofReasonPerMinute);
    expect(wanted(2, 'a')).toBe(sampleLimits.ofReasonPerMinute);
    expect(wanted(1, 'a')).toBe(0);
    for (const pipeline of applicationPipelines)
      expect(wanted(1, 'a', pipeline)).toBe(sampleLimits.ofReasonPerMinute);
    clock.ms += 60_000;
    for (const pipeline of pipelines) expect(wanted(1, 'a', pipeline)).toBe(sampleLimits.ofReasonPerMinute);
  });

  it('is limited for the process in a second, for all senders together', () => {
    const { clock, samples } = started();
    const wanted = (): number => {
      let count = 0;
      for (let owner = 1; owner <= 1000; owner++) if (samples.wants('traces', owner, 'a')) count++;
      return count;
    };
    expect(wanted()).toBe(sampleLimits.perSecond);
    clock.ms += 1000;
    expect(wanted()).toBe(sampleLimits.perSecond);
  });

  it('is limited while no one takes them, and dropped ones are reported', () => {
    const { samples, lost } = started();
    for (let count = 0; count < sampleLimits.held + 7; count++) samples.add(sample());
    expect(lost.rows).toBe(7);
    expect(samples.take(1).length).toBe(sampleLimits.held);
    expect(samples.take(1)).toEqual([]);
  });
});

describe('an example', () => {
  it('is the item as it was received, with its place, its sender and the epoch', () => {
    const { samples } = started();
    samples.add(sample());
    samples.add(sample({ pipeline: 'traces', owner: 7, field: 'startTimeUnixNano', value: 'N', detail: '' }));
    expect(samples.take(12)).toEqual([
      {
        at: '2026-11-20 13:30:00.000',
        pipeline: 'metrics',
        data_id: 1500001,
        app_id: 0,
        stage: 'receiver',
        reason: 'metrics_empty',
        ordinal: 3,
        field: 'metrics',
        value: '{}',
        detail: 'it is empty',
        payload: '{"metrics":{}}',
        request: '1099511627776',
        sender: '10.0.0.1',
        sdk: 'curl/8.5.0',
        boot: 12,
        seq: 0,
      },
      expect.objectContaining({ data_id: 0, app_id: 7, value: 'N', detail: '', seq: 1 }),
    ]);
  });

  it('has bounded texts', () => {
    const { samples } = started();
    const long = '数x '.repeat(100_000);
    samples.add(
      sample({ field: long, value: long, detail: long, payload: { long }, sender: long, sdk: long }),
    );
    const [row] = samples.take(1);
    for (const [name, bytesMax] of Object.entries(sampleBytesMax)) {
      expect(Buffer.byteLength(String(Reflect.get(row ?? {}, name))), name).toBeLessThanOrEqual(bytesMax);
    }
  });

  // A sender with the token `wrong` would hide from an operator what is wrong with it.
  it('keeps each word of a text of this program, one that equals a credential of the request, too', () => {
    const { samples } = started();
    const detail = 'send a valid one as a bearer token, this one is wrong';
    for (const word of detail.split(' '))
      samples.add(sample({ detail, isOwnDetail: true, sdk: `${word}/1.0`, secrets: [word] }));
    const rows = samples.take(1);
    expect(rows.map((row) => row.detail)).toEqual(detail.split(' ').map(() => detail));
    expect(rows.at(-1)?.sdk).toBe('[redacted]/1.0');
  });

  it('holds no credential, wherever one was', () => {
    const { samples } = started();
    for (const field of ['target', 'dimension.token', 'metrics.access_token', `metrics.${token}`]) {
      samples.add(
        sample({
          field,
          value: `secret ${token}`,
          detail: `expected a number, not secret ${token}`,
          payload: {
            target: token,
            dimension: { token: 'hunter2', other: `x${token}` },
            access_token: 'hunter2',
          },
          sender: token,
          sdk: token,
          secrets: ['presented'],
        }),
      );
      samples.add(sample({ field, payload: `row,token=hunter2,a=presented uid=1`, secrets: ['presented'] }));
    }
    const kept = JSON.stringify(samples.take(1));
    for (const secret of [token, token.slice(0, 8), 'hunter2', 'presented'])
      expect(kept).not.toContain(secret);
    expect(kept).toContain('expected a number');
  });
});
