import { Gauge, type Registry } from 'prom-client';

/** Figures of the account, as metadata's looks find it (architecture 10.2). */
export const createAccountMetrics = (registry: Registry) => {
  const registers = [registry];
  return {
    unbalanced: new Gauge({
      name: 'tidemark_outcome_unbalanced_owners',
      help: 'Data ids and applications with an open loss, excess or stuck difference in their account',
      registers,
    }),
    openItems: new Gauge({
      name: 'tidemark_account_open_difference_items',
      help: 'Items of each open loss, excess or stuck difference, by kind, stream, owner and minutes of arrival; an item of 0 stands for messages of unknown content',
      labelNames: ['kind', 'stream', 'owner', 'from', 'until'],
      registers,
    }),
    notKnown: new Gauge({
      name: 'tidemark_account_not_known_seconds',
      help: 'How long the books cannot be compared; 0 = they are compared',
      registers,
    }),
  };
};

export type AccountMetrics = ReturnType<typeof createAccountMetrics>;
