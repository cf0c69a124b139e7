import type { CollectorValues } from './document.ts';

/** What a subscription is told; JSON. */
export type SubscriptionParams = Record<string, unknown>;

/**
 * Who brings the documents to the nodes. Each call may be repeated: a subscription that has what it is told stays as it is.
 * Every call throws a Fault: transient where the same call may work later, permanent `node_management_refused` where it was
 * answered no, and permanent `subscription_missing` where there is no such subscription (any more).
 */
export type NodeManagement = {
  readonly name: 'polling' | 'http';
  /** False where the subscription is the record in KV and no call is needed. */
  readonly isRemote: boolean;
  /** How many reports a run brings at once. */
  readonly atOnce: number;
  /** What a subscription of these values is told. Permanent Fault `hosts_missing` where nobody would get it. */
  describe(values: CollectorValues): SubscriptionParams;
  /**
   * Makes the subscription and answers its id. A call with the key of an earlier one answers that one's id: a caller that
   * never heard the answer repeats it with the same key and parameters.
   */
  create(dataId: number, params: SubscriptionParams, key: string): Promise<number>;
  /** Replaces what it is told and delivers that at once. */
  update(subscriptionId: number, params: SubscriptionParams): Promise<void>;
  /** Delivers to all hosts. */
  install(subscriptionId: number): Promise<void>;
  /** Makes node management deliver again to hosts that lack a file. */
  enable(subscriptionId: number): Promise<void>;
  /** Switches it off and removes it; one that is not there counts as removed. */
  delete(subscriptionId: number): Promise<void>;
};

/** Nodes poll `GET /v1/subscriptions/<biz>`: the record is the subscription, and its id is the data id. */
export const pollingNodeManagement: NodeManagement = {
  name: 'polling',
  isRemote: false,
  atOnce: 64,
  describe: () => ({}),
  create: async (dataId) => dataId,
  update: async () => {},
  install: async () => {},
  enable: async () => {},
  delete: async () => {},
};
