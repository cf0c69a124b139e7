import { z } from 'zod';
import { type Hosts, parseHosts, requireTimeout } from '../../config/node-management.ts';
import type { Settings } from '../../config/settings.ts';
import { Fault } from '../../model/fault.ts';
import type { CollectorValues } from './document.ts';
import type { NodeManagement, SubscriptionParams } from './node-management.ts';
import { createClient } from './node-management-client.ts';
import { shownIn } from './shown-subscriptions.ts';

/** The platform prefix in the names of calls, where no setting names another. */
const callPrefixDefault = 'mon';

const createdSchema = z.object({ subscription_id: z.int().positive() });
const infoSchema = z.array(z.unknown());

type Node = Readonly<Record<string, number>>;

/** The hosts of a business; the subscriptions of a business share one list. */
const createNodes = (hosts: Hosts, prefix: string): ((bizId: number) => readonly Node[]) => {
  const lists = new Map<number, readonly Node[]>();
  return (bizId) => {
    const known = lists.get(bizId);
    if (known !== undefined) return known;
    const ids = new Set([...(hosts.get(0) ?? []), ...(hosts.get(bizId) ?? [])]);
    const nodes = [...ids].map((id) => ({ [`${prefix}_host_id`]: id }));
    lists.set(bizId, nodes);
    return nodes;
  };
};

/** Scope and steps in the form of node management. `prefix` is that of the platform in its names. */
const describe = (values: CollectorValues, nodes: readonly Node[], prefix: string): SubscriptionParams => {
  if (nodes.length === 0) {
    throw new Fault(
      'permanent',
      'hosts_missing',
      `TIDEMARK_NODE_MANAGEMENT_HOSTS has no host for business ${values.bizId}, and none for all (0)`,
    );
  }
  return {
    scope: { object_type: 'HOST', node_type: 'INSTANCE', nodes },
    steps: [
      {
        id: `${prefix}-collector`,
        type: 'PLUGIN',
        config: {
          plugin_name: `${prefix}-collector`,
          plugin_version: 'latest',
          config_templates: [{ name: `${prefix}-collector-report-v2.conf`, version: 'latest' }],
        },
        params: { context: contextOf(values, prefix) },
      },
    ],
  };
};

/** The values with which node management renders the template: the same document as Tidemark's. */
const contextOf = (values: CollectorValues, prefix: string): Record<string, unknown> => ({
  [`${prefix}_biz_id`]: values.bizId,
  [`${prefix}_data_id`]: values.dataId,
  [`${prefix}_data_token`]: values.token,
  token_config: {
    name: 'token_checker/proxy',
    proxy_dataid: values.dataId,
    proxy_token: values.token,
  },
  qps_config: { name: 'rate_limiter/token_bucket', type: 'token_bucket', qps: values.qps },
  validator_config: {
    name: 'proxy_validator/common',
    type: 'time_series',
    version: 'v2',
    max_future_time_offset: values.aheadSecondsMax,
  },
});

export type HttpNodeManagementOptions = {
  readonly settings: Settings['nodeManagement'] & { readonly url: string };
  readonly backOffMs?: number;
  /** Ends all calls. */
  readonly signal: AbortSignal;
};

/**
 * A node management API with the original's calls, each a POST of JSON to `<url>/subscription/<call>/` with the answer
 * `{result, code, message, data}`: create, update, run, switch, delete, and info, which shows what a subscription has, and
 * whether a refused one exists. Create carries `Idempotency-Key`: an API that supports it never makes a second subscription for
 * one key; another may make one more for each create call that got no answer, of which a run makes one. Throws a permanent
 * Fault `config_invalid` without a host.
 */
export const createHttpNodeManagement = (options: HttpNodeManagementOptions): NodeManagement => {
  const { settings, backOffMs = 500, signal } = options;
  const { url, token, tokenFile, tokenHeader, timeoutMs, prefix = callPrefixDefault } = settings;
  requireTimeout(timeoutMs);
  const nodesOf = createNodes(parseHosts(settings.hosts), prefix);
  const call = createClient({ url, token, tokenFile, tokenHeader, timeoutMs, backOffMs, signal });

  /** A refusal because of a missing subscription differs from any other. */
  const callOn = async (action: string, subscriptionId: number, more: object): Promise<void> => {
    try {
      await call(action, { subscription_id: subscriptionId, ...more });
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'node_management_refused') throw error;
      const info = infoSchema.safeParse(
        await call('info', { subscription_id_list: [subscriptionId] }).catch(() => undefined),
      );
      if (!info.success || info.data.length > 0) {
        throw new Fault('permanent', 'node_management_refused', error.message, error);
      }
      throw new Fault(
        'permanent',
        'subscription_missing',
        `subscription ${subscriptionId} does not exist`,
        error,
      );
    }
  };

  return {
    name: 'http',
    isRemote: true,
    atOnce: 8,
    describe: (values) => describe(values, nodesOf(values.bizId), prefix),
    create: async (_, params, key) => {
      // Of an API that ignores the key, each try without an answer may leave one more subscription.
      const created = createdSchema.safeParse(await call('create', params, { 'Idempotency-Key': key }, 1));
      if (created.success) return created.data.subscription_id;
      throw new Fault(
        'transient',
        'node_management_unavailable',
        'create: the answer has no subscription_id',
      );
    },
    look: async (ids) => shownIn(await call('info', { subscription_id_list: ids }), prefix),
    update: (id, params) => callOn('update', id, { ...params, run_immediately: true }),
    install: (id) => callOn('run', id, { actions: { [`${prefix}-collector`]: 'INSTALL' } }),
    enable: (id) => callOn('switch', id, { action: 'enable' }),
    uninstall: (id) => callOn('run', id, { actions: { [`${prefix}-collector`]: 'UNINSTALL' } }),
    delete: async (id) => {
      try {
        await callOn('switch', id, { action: 'disable' });
        await callOn('delete', id, {});
      } catch (error) {
        if (!(error instanceof Fault) || error.code !== 'subscription_missing') throw error;
      }
    },
    endingWith: (other) => createHttpNodeManagement({ ...options, signal: AbortSignal.any([signal, other]) }),
  };
};
