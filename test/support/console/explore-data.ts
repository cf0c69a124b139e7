import { expect } from 'vitest';
import type { OtlpLogRecord } from '../otlp/logs.ts';
import { encodeOtlpJson, type OtlpSpan } from '../otlp/protobuf.ts';
import { attribute } from '../otlp/trace-cases.ts';
import { consoleStack } from './console-stack.ts';

/** What a browser must show as text and nothing else. */
export const hostileName =
  '<img src=x onerror=alert(1)><script>alert(2)</script>\u202egnp.exe\u0000\u001b[31m __proto__ =1+1';

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

/** Exports log records of one service. */
export const exportLogs = async (
  token: string,
  service: string,
  logRecords: readonly OtlpLogRecord[],
): Promise<void> => {
  const answer = await fetch(`${consoleStack().otlp}/v1/logs`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-MON-TOKEN': token },
    body: JSON.stringify({
      resourceLogs: [
        { resource: { attributes: [attribute('service.name', service)] }, scopeLogs: [{ logRecords }] },
      ],
    }),
  });
  expect([answer.status, await answer.text()]).toEqual([200, '{}']);
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
