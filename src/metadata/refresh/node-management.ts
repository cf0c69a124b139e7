import type { CollectorValues } from './document.ts';

/** The content of a subscription; JSON. */
export type SubscriptionParams = Record<string, unknown>;

/** A subscription as node management shows it. */
export type ShownSubscription = {
  /** The data id of its content; that of no report where another program made it. */
  readonly dataId: number;
  /** Undefined where all that it shows of values and hosts is as in `params`, else a digest of what it shows otherwise. */
  otherwise(params: SubscriptionParams): string | undefined;
};

/**
 * Delivers the documents to the nodes. Each call may be repeated: a subscription that has the content already does not
 * change. Every call throws a Fault: transient where the same call may work later, permanent `node_management_refused`
 * after a refusal, permanent `subscription_missing` where the subscription does not exist (any more), and permanent
 * `config_invalid` where no header may have the token.
 */
export type NodeManagement = {
  readonly name: 'polling' | 'http';
  /** False where the subscription is the record in KV and no call is needed. */
  readonly isRemote: boolean;
  /** How many reports a run delivers in parallel. */
  readonly atOnce: number;
  /** The content of a subscription with these values. Permanent Fault `hosts_missing` where no host would get it. */
  describe(values: CollectorValues): SubscriptionParams;
  /**
   * Creates the subscription and returns its id. A call with the key of an earlier one returns the id of that one: a
   * caller that lost the answer repeats the call with the same key and parameters.
   */
  create(dataId: number, params: SubscriptionParams, key: string): Promise<number>;
  /** The subscriptions of these ids, by id, of which node management shows the content: it may have other data than before. */
  look(subscriptionIds: readonly number[]): Promise<ReadonlyMap<number, ShownSubscription>>;
  /** Replaces its content and delivers that at once. */
  update(subscriptionId: number, params: SubscriptionParams): Promise<void>;
  /** Delivers to all hosts. */
  install(subscriptionId: number): Promise<void>;
  /** Makes node management deliver again to hosts that lack a file. */
  enable(subscriptionId: number): Promise<void>;
  /**
   * Makes the hosts remove its file. `delete` alone may leave the file: the original's node management then only sets
   * flags.
   */
  uninstall(subscriptionId: number): Promise<void>;
  /** Switches it off and removes it; a missing one counts as removed. */
  delete(subscriptionId: number): Promise<void>;
  /** The same, of which `signal` ends all calls. */
  endingWith(signal: AbortSignal): NodeManagement;
};

/** Nodes poll `GET /v1/subscriptions/<biz>`: the record is the subscription, and its id is the data id. */
export const pollingNodeManagement: NodeManagement = {
  name: 'polling',
  isRemote: false,
  atOnce: 64,
  describe: () => ({}),
  create: async (dataId) => dataId,
  look: async () => new Map(),
  update: async () => {},
  install: async () => {},
  enable: async () => {},
  uninstall: async () => {},
  delete: async () => {},
  endingWith: () => pollingNodeManagement,
};
