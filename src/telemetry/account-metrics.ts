import type { Registry } from 'prom-client';
import { metersIn } from './meters.ts';

/** Figures of the account, as metadata's looks find it (architecture 10.2). */
export const createAccountMetrics = (registry: Registry) => {
  const { gauge } = metersIn(registry);
  return {
    unbalanced: gauge({
      name: 'tidemark_outcome_unbalanced_owners',
      help: 'Data ids and applications with an open loss, excess or stuck difference in their account',
      remedy: '`tidemark account` names each difference; docs/runbook.md#tidemarkunbalanced',
    }),
    openItems: gauge({
      name: 'tidemark_account_open_difference_items',
      help: 'Items of each open loss, excess or stuck difference, by kind, stream, owner and minutes of arrival; an item of 0 stands for messages of unknown content',
      labelNames: ['kind', 'stream', 'owner', 'from', 'until'],
      remedy: 'the labels name kind, owner and minutes; docs/runbook.md#tidemarkunbalanced',
    }),
    notKnown: gauge({
      name: 'tidemark_account_not_known_seconds',
      help: 'How long the books cannot be compared, or rows of a store cannot be read; 0 = all is compared',
      remedy:
        'over 300: NATS or ClickHouse does not answer, LEDGER is behind, or files of a table are damaged; docs/runbook.md#tidemarkaccountnotknown',
    }),
  };
};

export type AccountMetrics = ReturnType<typeof createAccountMetrics>;
