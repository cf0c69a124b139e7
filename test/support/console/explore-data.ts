import { expect } from 'vitest';
import { encodeOtlpJson, type OtlpSpan } from '../otlp/protobuf.ts';
import { attribute } from '../otlp/trace-cases.ts';
import { askAdmin } from './browser.ts';
import { consoleStack } from './console-stack.ts';

/** What a browser must show as text and nothing else. */
export const hostileName =
  '<img src=x onerror=alert(1)><script>alert(2)</script>\u202egnp.exe\u0000\u001b[31m __proto__ =1+1';

const created = async <T>(path: string, body: object): Promise<T> => {
  const answer = await askAdmin('POST', path, body);
  expect(answer.status, answer.body).toBe(200);
  const parsed: T = JSON.parse(answer.body);
  return parsed;
};

/** A new application: its id and its token. */
export const createApplication = async (app_name: string): Promise<{ app_id: number; token: string }> =>
  (
    await created<{ application: { app_id: number; token: string } }>('/api/v1/applications', {
      mon_biz_id: 2,
      app_name,
    })
  ).application;

const createReport = '/operations/monitor_web.custom_report.resources.CreateCustomTimeSeries';

/** A new source: its data id and its token. */
export const createSource = async (name: string): Promise<{ mon_data_id: number; token: string }> =>
  (
    await created<{ data_source: { mon_data_id: number; token: string } }>(createReport, {
      mon_biz_id: 2,
      name,
    })
  ).data_source;

const spansOfRequest = 1_000;

/** Exports spans, each with the service that `serviceOf` gives it. */
export const exportSpans = async (
  token: string,
  spans: readonly OtlpSpan[],
  serviceOf: (index: number) => string,
): Promise<void> => {
  for (let first = 0; first < spans.length; first += spansOfRequest) {
    const byService = Map.groupBy(spans.slice(first, first + spansOfRequest), (_, index) =>
      serviceOf(first + index),
    );
    const resourceSpans = [...byService].map(([service, own]) => ({
      resource: { attributes: [attribute('service.name', service), attribute('host.name', 'web-1')] },
      scopeSpans: [{ spans: own }],
    }));
    const answer = await fetch(`${consoleStack().otlp}/v1/traces`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-MON-TOKEN': token },
      body: encodeOtlpJson({ resourceSpans }),
    });
    expect(await answer.text()).not.toContain('rejectedSpans');
    expect(answer.status).toBe(200);
  }
};

export const spanIdOf = (index: number): string => (index + 1).toString(16).padStart(16, '0');

const parentOf = (index: number): number => Math.floor((index - 1) / 10);

/** A trace as a tree of ten children each, whose root takes ten seconds: each child has a tenth of its parent's time. */
export const wideTrace = (traceId: string, count: number, start: bigint): OtlpSpan[] => {
  const times: { from: number; length: number }[] = [];
  return Array.from({ length: count }, (_, index): OtlpSpan => {
    const above = times[parentOf(index)];
    const time =
      index === 0 || above === undefined
        ? { from: 0, length: 10_000_000_000 }
        : { from: above.from + ((index - 1) % 10) * (above.length / 10), length: above.length / 10 };
    times.push(time);
    return {
      traceId,
      spanId: spanIdOf(index),
      ...(index === 0 ? {} : { parentSpanId: spanIdOf(parentOf(index)) }),
      name: `step ${index}`,
      kind: 1,
      startTimeUnixNano: String(start + BigInt(Math.floor(time.from))),
      endTimeUnixNano: String(start + BigInt(Math.floor(time.from + time.length))),
      attributes: [attribute('step.number', String(index))],
      ...(index % 97 === 96 ? { status: { code: 2, message: 'it failed' } } : {}),
    };
  });
};

/** Pushes a point for each of these. */
export const pushPoints = async (
  { mon_data_id, token }: { mon_data_id: number; token: string },
  data: readonly object[],
): Promise<void> => {
  const answer = await fetch(`${consoleStack().push}/v2/push/`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ data_id: mon_data_id, access_token: token, data }),
  });
  expect(answer.status, await answer.text()).toBe(200);
};
