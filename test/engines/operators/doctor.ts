import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { runCli } from '../../support/clients/cli.ts';
import type { Stack } from '../../support/stack/stack.ts';
import { sharedStack } from './stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await sharedStack();
});

const answerSchema = z.object({
  well: z.boolean(),
  findings: z.array(
    z.object({ name: z.string(), ok: z.boolean(), detail: z.string(), ms: z.number().nonnegative() }),
  ),
});

const doctor = async (env: Record<string, string> = {}, ...options: string[]) => {
  const ports = stack.ingress[0]?.ports ?? {};
  const { code, stdout, stderr } = await runCli(
    [
      'doctor',
      '--json',
      '--push-url',
      `http://127.0.0.1:${ports['push']}`,
      '--otlp-url',
      `http://127.0.0.1:${ports['otlp']}`,
      ...options,
    ],
    { ...process.env, ...stack.env, ...env },
  );
  expect(stderr).toBe('');
  return { code, ...answerSchema.parse(JSON.parse(stdout)), text: stdout };
};

const failing = (findings: z.output<typeof answerSchema>['findings']) =>
  findings.filter(({ ok }) => !ok).map(({ name }) => name);

describe('tidemark doctor', () => {
  // The second time finds what the first one made, and must not take an earlier trial for its own.
  it.each([1, 2])('sees a well deployment through to the end (time %i)', async () => {
    const { code, well, findings, text } = await doctor();
    expect(failing(findings)).toEqual([]);
    expect([code, well]).toEqual([0, true]);
    expect(findings.map(({ name }) => name)).toEqual([
      'nats',
      'clock of nats',
      ...['METRICS', 'TRACES', 'LEDGER', 'DEADLETTER', 'AUDIT'].map((name) => `stream ${name}`),
      'questdb',
      'clock of questdb',
      'tables of questdb',
      'clickhouse',
      'clock of clickhouse',
      'tables of clickhouse',
      'admin api',
      ...['records', 'acknowledged', 'in QuestDB', 'in the balance'].map((stage) => `point: ${stage}`),
      ...['records', 'acknowledged', 'in ClickHouse', 'in the balance'].map((stage) => `span: ${stage}`),
    ]);
    expect(text).not.toMatch(/[0-9a-f]{32}\.|token":/);
  });

  it('names a dependency that is down, and continues with the others', async () => {
    const { code, findings } = await doctor({ TIDEMARK_QUESTDB_URL: 'http://127.0.0.1:1' }, '--no-trial');
    expect(code).toBe(1);
    expect(failing(findings)).toEqual(['questdb', 'clock of questdb', 'tables of questdb']);
  });

  it('names the stage that items do not pass', async () => {
    await stack.transfer[0]?.stop();
    const { code, findings } = await doctor({}, '--timeout', '10s');
    stack.transfer[0]?.start();
    expect(code).toBe(1);
    expect(failing(findings)).toEqual(['point: in QuestDB', 'span: in ClickHouse']);
  });
});
