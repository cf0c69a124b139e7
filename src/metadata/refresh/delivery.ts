import { randomUUID } from 'node:crypto';
import { Fault } from '../../model/fault.ts';
import { md5Of, renderDocument } from './document.ts';
import type { HeldLease } from './lease.ts';
import type { NodeManagement, SubscriptionParams } from './node-management.ts';
import type { WantedReport } from './reports.ts';
import type { HeldSubscription, Subscription, Subscriptions } from './subscriptions.ts';

export type DeliveryDeps = {
  readonly subscriptions: Subscriptions;
  readonly nodeManagement: NodeManagement;
  readonly lease: HeldLease;
  /** Unix seconds. */
  readonly now: () => number;
  /** Receives what an operator must clean up by hand. */
  readonly onOrphan: (subscription: Subscription) => void;
};

/** The content that one report's subscription must have. */
type Target = Pick<
  Subscription,
  'mon_data_id' | 'custom_report_id' | 'mon_biz_id' | 'adapter' | 'md5' | 'params_md5' | 'document'
> & { readonly params: SubscriptionParams };

const hasCode = (error: unknown, code: string): boolean => error instanceof Fault && error.code === code;

const targetOf = ({ report, values }: WantedReport, nodeManagement: NodeManagement): Target => {
  const document = renderDocument(values);
  const params = nodeManagement.describe(values);
  return {
    mon_data_id: values.dataId,
    custom_report_id: report.custom_report_id,
    mon_biz_id: values.bizId,
    adapter: nodeManagement.name,
    md5: md5Of(document),
    params_md5: md5Of(JSON.stringify(params)),
    document,
    params,
  };
};

const holds = (subscription: Subscription, target: Target): boolean =>
  subscription.state === 'active' &&
  subscription.adapter === target.adapter &&
  subscription.md5 === target.md5 &&
  subscription.params_md5 === target.params_md5;

/** Makes one subscription match its report. A killed process leaves a state from which the next one continues. */
export type Delivery = {
  deliver(wanted: WantedReport): Promise<'created' | 'updated' | 'unchanged'>;
  remove(dataId: number): Promise<void>;
};

export const createDelivery = (deps: DeliveryDeps): Delivery => {
  const { subscriptions, nodeManagement, lease, now } = deps;

  const save = async (
    value: Subscription,
    before: HeldSubscription | undefined,
  ): Promise<HeldSubscription> => {
    await lease.check();
    return subscriptions.save(value, before);
  };
  const forget = async (dataId: number): Promise<void> => {
    await lease.check();
    await subscriptions.remove(dataId);
  };
  const record = (
    { params: _, ...target }: Target,
    rest: Pick<Subscription, 'subscription_id' | 'state' | 'created' | 'intent'>,
  ): Subscription => ({ ...target, ...rest, updated: now() });

  /**
   * Sends the create call of `intent` and stores its answer. A refusal of the first try with a key proves that no
   * subscription exists, so the intent is given up; after any other failure the next run makes the same call again.
   */
  const finishCreate = async (held: HeldSubscription, isFirst: boolean): Promise<HeldSubscription> => {
    const { intent, mon_data_id } = held.value;
    if (intent === undefined) {
      throw new Fault('internal', 'record_invalid', `subscription.${mon_data_id} is creating without intent`);
    }
    await lease.check();
    const id = await nodeManagement
      .create(mon_data_id, intent.params, intent.key)
      .catch(async (error: unknown) => {
        if (isFirst && error instanceof Fault && error.kind === 'permanent') await forget(mon_data_id);
        throw error;
      });
    const { intent: _, ...value } = held.value;
    return save({ ...value, subscription_id: id, state: 'installing', updated: now() }, held);
  };

  const idOf = ({ value }: HeldSubscription): number => {
    if (value.subscription_id !== null) return value.subscription_id;
    throw new Fault('internal', 'record_invalid', `subscription.${value.mon_data_id} has no subscription_id`);
  };

  const create = async (target: Target, before: HeldSubscription | undefined): Promise<void> => {
    const created = now();
    if (!nodeManagement.isRemote) {
      await save(record(target, { subscription_id: target.mon_data_id, state: 'active', created }), before);
      return;
    }
    const intent = { key: `tidemark-${target.mon_data_id}-${randomUUID()}`, params: target.params };
    const begun = await save(
      record(target, { subscription_id: null, state: 'creating', created, intent }),
      before,
    );
    const made = await finishCreate(begun, true);
    await nodeManagement.enable(idOf(made));
    await nodeManagement.install(idOf(made));
    await save({ ...made.value, state: 'active', updated: now() }, made);
  };

  /** Sends an existing subscription in full, also after a process that was killed during a delivery. */
  const replace = async (target: Target, held: HeldSubscription): Promise<void> => {
    if (nodeManagement.isRemote) {
      await lease.check();
      await nodeManagement.enable(idOf(held));
      await nodeManagement.update(idOf(held), target.params);
    }
    const { subscription_id, created } = held.value;
    await save(record(target, { subscription_id, state: 'active', created }), held);
  };

  const deliverFresh = async (target: Target): Promise<'created' | 'updated' | 'unchanged'> => {
    const held = await subscriptions.read(target.mon_data_id);
    if (held === undefined) return create(target, undefined).then(() => 'created');
    if (held.value.adapter !== target.adapter) {
      if (held.value.adapter === 'http') deps.onOrphan(held.value);
      return create(target, held).then(() => 'created');
    }
    switch (held.value.state) {
      case 'creating':
        return replace(target, await finishCreate(held, false)).then(() => 'created');
      case 'installing':
        return replace(target, held).then(() => 'created');
      case 'deleting':
        await removeHeld(held);
        return create(target, undefined).then(() => 'created');
      default:
        if (holds(held.value, target)) return 'unchanged';
        return replace(target, held).then(() => 'updated');
    }
  };

  const removeHeld = async (given: HeldSubscription): Promise<void> => {
    let held = given;
    const dataId = held.value.mon_data_id;
    if (held.value.adapter !== nodeManagement.name) {
      if (held.value.adapter === 'http') deps.onOrphan(held.value);
      return forget(dataId);
    }
    if (nodeManagement.isRemote) {
      // A subscription that may have been created must be found before it can be deleted.
      if (held.value.state === 'creating') held = await finishCreate(held, false);
      if (held.value.state !== 'deleting') held = await save({ ...held.value, state: 'deleting' }, held);
      await lease.check();
      await nodeManagement.delete(idOf(held));
    }
    await forget(dataId);
  };

  return {
    deliver: async (wanted) => {
      const target = targetOf(wanted, nodeManagement);
      const known = subscriptions.known(target.mon_data_id);
      try {
        if (known !== undefined && holds(known, target)) {
          if (nodeManagement.isRemote && known.subscription_id !== null) {
            await nodeManagement.enable(known.subscription_id);
          }
          return 'unchanged';
        }
        return await deliverFresh(target);
      } catch (error) {
        if (!hasCode(error, 'subscription_missing')) throw error;
        // It was removed on the other side: a new one replaces it.
        await create(target, await subscriptions.read(target.mon_data_id));
        return 'created';
      }
    },
    remove: async (dataId) => {
      const held = await subscriptions.read(dataId);
      if (held !== undefined) await removeHeld(held);
    },
  };
};
