import { expect } from 'vitest';
import { z } from 'zod';
import type { TraceStack } from '../otlp/trace-stack.ts';
import type { Application } from '../stack/stack.ts';
import type { HeldRow } from './process.ts';
import { logs, metrics, traces } from './signal.ts';
import { expectStored } from './suite.ts';

const told = z.object({ ok: z.boolean(), rows: z.array(z.record(z.string(), z.unknown())) });

/** The report of a program on each signal: whether every export was a success, and the rows of what its SDK handed over. */
const toldOfAll = z.object({ traces: told, logs: told, metrics: told });

const sorted = (attributes: unknown): string => JSON.stringify(Object.entries(Object(attributes)).sort());

/** For items without a number of their own. */
const signals = [
  traces,
  {
    ...logs,
    identityOf: ({ Timestamp: time, ScopeName: scope, Body: body }: HeldRow) => `${time} ${scope} ${body}`,
  },
  {
    ...metrics,
    identityOf: ({ MetricName: name, TimeUnix: time, ScopeName: scope, Attributes: attributes }: HeldRow) =>
      `${name} ${time} ${scope} ${sorted(attributes)}`,
  },
];

/** What an exporter logs when it does not succeed, in any of the languages. */
const failure = /fail|error|exception|transient|retry/i;

/**
 * Fails unless the program has reported items of every signal, each export was a success, its log has no failure, and the application's
 * rows are exactly what its SDK handed over.
 */
export const expectAllSignals = async (
  on: TraceStack,
  application: Application,
  program: unknown,
  log: string,
): Promise<void> => {
  const all = toldOfAll.parse(program);
  expect(log.split('\n').filter((line) => failure.test(line))).toEqual([]);
  for (const signal of signals) {
    const { ok, rows } = all[signal.name];
    expect([signal.name, ok, rows.length > 0]).toEqual([signal.name, true, true]);
    await expectStored(on, application, rows, signal);
  }
};
