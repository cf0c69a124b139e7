import { z } from 'zod';
import type { RoleProcess, Stack } from './stack.ts';

const reasons = z.record(z.string(), z.string());
// An earlier program does not say what it misses.
const answer = z.object({ ready: z.boolean(), failing: reasons, degraded: reasons.default({}) });

type Process = Pick<RoleProcess, 'ports' | 'name'>;

/** The answer of `/readyz` of a process. */
export const readyzOf = async (role: Pick<Process, 'ports'> | undefined) => {
  const response = await fetch(`http://127.0.0.1:${role?.ports['ops']}/readyz`);
  return { status: response.status, ...answer.parse(await response.json()) };
};

/** What stacks without ClickHouse lack by nature: outcomes wait in LEDGER. */
const withoutClickhouse = /^(outcomes(_.*)?|ledger_fill)$/;

/** What a process misses for its work on items: `degraded` without the way of outcomes. */
export const missedBy = async (role: Process | undefined): Promise<Record<string, string>> => {
  const { degraded } = await readyzOf(role);
  const isMetadata = role?.name === 'metadata';
  return Object.fromEntries(
    Object.entries(degraded).filter(
      ([check]) => !withoutClickhouse.test(check) && !(isMetadata && check === 'clickhouse'),
    ),
  );
};

/** What the first transfer process misses. */
export const missedByTransfer = (stack: Stack): Promise<Record<string, string>> =>
  missedBy(stack.transfer[0]);

/** Whether a process is ready and misses nothing. */
export const isWell = async (role: Process): Promise<boolean> =>
  (await readyzOf(role)).status === 200 && Object.keys(await missedBy(role)).length === 0;
