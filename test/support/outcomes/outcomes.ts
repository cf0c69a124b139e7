import { type Balance, type BalanceFilter, readBalances } from '../../../src/outcomes/balance.ts';
import { type Clickhouse, createClickhouse } from '../../../src/stores/clickhouse/client.ts';
import type { Stack } from '../stack/stack.ts';

/** Reads what is recorded of the outcomes of a stack. */
export type OutcomeReader = {
  readonly clickhouse: Clickhouse;
  /** The balances once nothing is on its way any more. */
  settled(filter?: BalanceFilter): Promise<Balance[]>;
  close(): Promise<void>;
};

export const createOutcomeReader = (stack: Stack): OutcomeReader => {
  const clickhouse = createClickhouse({ url: stack.engines.clickhouse.url });
  return {
    clickhouse,
    settled: async (filter) => {
      for (const stream of ['METRICS', 'TRACES', 'LEDGER'] as const) await stack.waitForEmptyStream(stream);
      return readBalances(clickhouse, filter);
    },
    close: () => clickhouse.close(),
  };
};
