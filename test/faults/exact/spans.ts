import { beforeAll, describe, expect, it } from 'vitest';
import {
  cleanSpanVerdict,
  countOf,
  exportSpans,
  settleAndJudge,
  tracesUrl,
} from '../../support/otlp/span-producer.ts';
import { figureOf } from '../../support/outcomes/dead-letters.ts';
import type { Stack } from '../../support/stack/stack.ts';
import { sharedStack } from './stack.ts';

const seed = 5;

describe('spans through two ingress and two transfer processes', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await sharedStack();
  });

  it('100,000 in mixed sizes: count() equals the acknowledged spans, every value is stored, every trace is found by its id', async () => {
    const application = await stack.createApplication('exact');
    const baseSeconds = Math.floor(Date.now() / 1000) - 600;
    const books = await exportSpans(baseSeconds, {
      seed,
      connections: 8,
      spansMax: 1000,
      spans: 100_000,
      urls: [tracesUrl(stack, 0), tracesUrl(stack, 1)],
      token: application.token,
    });
    expect(books.acknowledged.size).toBe(100_000);
    expect(await settleAndJudge(stack, application, books, seed, baseSeconds)).toEqual(cleanSpanVerdict);
    const [lookup] = await stack.spansQuery(
      `SELECT count() AS lost FROM (SELECT DISTINCT TraceId FROM otel.otel_traces WHERE AppId = ${application.app_id}) WHERE TraceId NOT IN (SELECT TraceId FROM otel.otel_traces_trace_id_ts)`,
    );
    expect(lookup?.['lost']).toBe('0');
  });

  it('the byte-identical request again, through the other receiver: stored once, warned, counted; with deduplicate false: twice', async () => {
    const once = await stack.createApplication('once');
    const twice = await stack.createApplication('twice', { deduplicate: false });
    const body = JSON.stringify({
      resourceSpans: [
        {
          resource: { attributes: [] },
          scopeSpans: [
            {
              spans: [
                {
                  traceId: '5b8efff798038103d269b633813fc60c',
                  spanId: 'eee19b7ec3c1b174',
                  name: 'again',
                  kind: 1,
                  startTimeUnixNano: `${Math.floor(Date.now() / 1000)}000000000`,
                  endTimeUnixNano: `${Math.floor(Date.now() / 1000)}000000001`,
                },
              ],
            },
          ],
        },
      ],
    });
    const post = async (index: number, token: string): Promise<string> => {
      const response = await fetch(tracesUrl(stack, index), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-mon-token': token },
        body,
      });
      expect(response.status).toBe(200);
      return response.text();
    };
    const repeats = async (): Promise<number> =>
      figureOf((await stack.ingress[1]?.metrics()) ?? '', 'tidemark_ingress_duplicate_requests_total', {
        pipeline: 'traces',
      });
    const before = await repeats();
    expect(await post(0, once.token)).toBe('{}');
    const repeated: { partialSuccess: { rejectedSpans: string; errorMessage: string } } = JSON.parse(
      await post(1, once.token),
    );
    expect(repeated.partialSuccess.rejectedSpans).toBe('0');
    expect(repeated.partialSuccess.errorMessage).toContain('duplicate_request');
    expect(await repeats()).toBe(before + 1);
    expect(await post(0, twice.token)).toBe('{}');
    expect(await post(1, twice.token)).toBe('{}');
    await stack.waitForEmptyStream('TRACES');
    expect(await countOf(stack, once.app_id)).toBe(1);
    expect(await countOf(stack, twice.app_id)).toBe(2);
  });
});
