import { randomUUID } from 'node:crypto';
import { untilWritten } from '../../bus/kv.ts';
import { Fault } from '../../model/fault.ts';
import type { CollectorValues } from './document.ts';
import type { HeldLease } from './lease.ts';
import type { NodeManagement, ShownSubscription, SubscriptionParams } from './node-management.ts';
import type { WantedReport } from './reports.ts';
import { isAnothers, Sights } from './sights.ts';
import type { HeldSubscription, Subscription, Subscriptions } from './subscriptions.ts';
import { holds, type Target, type TargetDeps, targetOf } from './target.ts';

export type DeliveryDeps = TargetDeps & {
  readonly subscriptions: Subscriptions;
  readonly lease: HeldLease;
  /** Unix seconds. */
  readonly now: () => number;
  /** Receives what an operator must clean up by hand. */
  readonly onOrphan: (subscription: Subscription, why: OrphanReason) => void;
  /** Node management shows nothing in this run, for this reason: the records alone count. */
  readonly onBlind: (error: unknown) => void;
  /**
   * By subscription id: what node management showed otherwise right after an update, as a digest. It has another form
   * there, and is not sent again for that. Kept over runs.
   */
  readonly otherForms: Map<number, string>;
  /** Receives each of these once. */
  readonly onOtherForm: (subscriptionId: number, dataId: number) => void;
};

/**
 * `api_left`: of an API that is no longer configured. `create_refused`: its create call got no answer, and each repeat
 * is refused, so that it is not known whether it exists. `create_repeated`: this one is there, and its create call was
 * made before without an answer, so that others may be.
 */
export type OrphanReason = 'api_left' | 'create_refused' | 'create_repeated';

/** Tries to mark a record that another process may be writing at the same time. */
const markTriesMax = 3;

const hasCode = (error: unknown, code: string): boolean => error instanceof Fault && error.code === code;

/** A call with these parameters is refused. 401, 403 or 404 only say that the API does not know who asks, or where. */
const refusesParams = (error: unknown): boolean =>
  error instanceof Fault &&
  error.code === 'node_management_refused' &&
  [undefined, 400, 422].includes(error.detail.status);

/** Makes one subscription match its report. A killed process leaves a state from which the next one continues. */
export type Delivery = {
  /**
   * Whether the subscription has the content of the report, as far as this process's copy and the last look tell:
   * `deliver` then only asks node management for it. Permanent Fault `hosts_missing` where no host would get it.
   */
  isHeld(wanted: WantedReport): boolean;
  /** Looks at what node management has of these, which are held; until `isOver`. */
  look(held: readonly WantedReport[], isOver: () => boolean): Promise<void>;
  deliver(wanted: WantedReport): Promise<'created' | 'updated' | 'unchanged'>;
  /**
   * Removes the subscription. Before that the hosts get `refusing`, the facts with a rate of which nothing passes, and
   * the action that removes the file: a host that misses the second takes nothing all the same.
   */
  remove(dataId: number, refusing: CollectorValues | undefined): Promise<void>;
};

class Deliveries implements Delivery {
  private readonly deps: DeliveryDeps;
  private readonly nodeManagement: NodeManagement;
  private readonly sights: Sights;
  private readonly targets = new WeakMap<WantedReport, Target>();
  /** The subscription that a call of this process may have changed, by data id, until its delivery ends. */
  private readonly sentTo = new Map<number, number>();

  constructor(deps: DeliveryDeps) {
    this.deps = deps;
    this.nodeManagement = deps.nodeManagement.endingWith(deps.lease.signal);
    this.sights = new Sights(this.nodeManagement, deps.onBlind);
  }

  /** Made once in a run. */
  private targetOf(wanted: WantedReport): Target {
    const known = this.targets.get(wanted);
    if (known !== undefined) return known;
    const target = targetOf(wanted, this.deps);
    this.targets.set(wanted, target);
    return target;
  }

  isHeld(wanted: WantedReport): boolean {
    const target = this.targetOf(wanted);
    const known = this.deps.subscriptions.known(target.mon_data_id);
    if (known === undefined || !holds(known, target)) return false;
    const id = known.subscription_id;
    return id === null || !this.differs(id, this.sights.last(id), target);
  }

  /** Whether node management shows another's, or content that is not the form in which it shows this one. */
  private differs(id: number, shown: ShownSubscription | undefined, target: Target): boolean {
    if (shown === undefined) return false;
    if (shown.dataId !== target.mon_data_id) return true;
    const otherwise = shown.otherwise(target.params);
    if (otherwise === undefined) this.deps.otherForms.delete(id);
    return otherwise !== undefined && otherwise !== this.deps.otherForms.get(id);
  }

  /** Looks at how node management shows what it was just sent. */
  private async learnForm(id: number, target: Target): Promise<void> {
    const { otherForms, onOtherForm } = this.deps;
    const shown = await this.sights.takeNow(id);
    if (shown?.dataId !== target.mon_data_id) return;
    const otherwise = shown.otherwise(target.params);
    if (otherwise === undefined) return;
    if (!otherForms.has(id)) onOtherForm(id, target.mon_data_id);
    otherForms.set(id, otherwise);
  }

  look(held: readonly WantedReport[], isOver: () => boolean): Promise<void> {
    const expected = held.flatMap((wanted) => {
      const id = this.deps.subscriptions.known(wanted.values.dataId)?.subscription_id;
      return typeof id === 'number' ? { id, length: this.targetOf(wanted).paramsLength } : [];
    });
    return this.sights.takeMany(expected, isOver);
  }

  deliver(wanted: WantedReport): Promise<'created' | 'updated' | 'unchanged'> {
    const target = this.targetOf(wanted);
    return this.orInDoubt(target.mon_data_id, () => this.deliverTarget(target));
  }

  private async deliverTarget(target: Target): Promise<'created' | 'updated' | 'unchanged'> {
    const known = this.deps.subscriptions.known(target.mon_data_id);
    try {
      if (known === undefined || !holds(known, target)) return await this.deliverFresh(target, false);
      if (!this.nodeManagement.isRemote || known.subscription_id === null) return 'unchanged';
      const shown = await this.sights.take(known.subscription_id);
      if (this.differs(known.subscription_id, shown, target)) return await this.deliverFresh(target, true);
      await this.deps.lease.check();
      await this.nodeManagement.enable(known.subscription_id);
      return 'unchanged';
    } catch (error) {
      if (!hasCode(error, 'subscription_missing')) throw error;
      // It was removed on the other side, or its id is another's there: a new one replaces it.
      await this.create(target, await this.deps.subscriptions.read(target.mon_data_id));
      return 'created';
    }
  }

  remove(dataId: number, refusing: CollectorValues | undefined): Promise<void> {
    return this.orInDoubt(dataId, async () => {
      const held = await this.deps.subscriptions.read(dataId);
      if (held !== undefined) await this.removeHeld(held, refusing);
    });
  }

  private async orInDoubt<T>(dataId: number, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const id = this.sentTo.get(dataId);
      const mayBeLate =
        this.deps.lease.signal.aborted || hasCode(error, 'lease_lost') || hasCode(error, 'kv_conflict');
      // Where KV cannot be reached, the error of the delivery says more.
      if (id !== undefined && mayBeLate) await this.markInDoubt(dataId, id).catch(() => undefined);
      throw error;
    } finally {
      this.sentTo.delete(dataId);
    }
  }

  /**
   * A call of this process may have come behind those of the next leader, whose record then says what node management
   * no longer has: the record of now says that it is to be sent again. Each write makes a delivery under way end with
   * `kv_conflict`, too.
   */
  private async markInDoubt(dataId: number, id: number): Promise<void> {
    const { subscriptions, now } = this.deps;
    await untilWritten(`subscription.${dataId}`, markTriesMax, async () => {
      const held = await subscriptions.read(dataId);
      if (held?.value.subscription_id !== id) return;
      const { removal: _, ...value } = held.value;
      const state = value.state === 'deleting' ? 'deleting' : 'installing';
      await subscriptions.save({ ...value, state, updated: now() }, held);
    });
  }

  /**
   * Before anything changes there: node management may have other data than when it answered this id, as after a
   * restore, and may have given the id to another report since. Permanent Fault `subscription_missing` for another's.
   */
  private async requireOwn(held: HeldSubscription): Promise<void> {
    const id = this.idOf(held);
    const shown = await this.sights.takeNow(id);
    if (!isAnothers(held.value, shown, this.deps.subscriptions.list())) return;
    throw new Fault(
      'permanent',
      'subscription_missing',
      `subscription ${id} is not of data id ${held.value.mon_data_id}`,
    );
  }

  /** A call that changes what the hosts get. */
  private async change(held: HeldSubscription, call: (id: number) => Promise<void>): Promise<void> {
    const id = this.idOf(held);
    await this.deps.lease.check();
    this.sentTo.set(held.value.mon_data_id, id);
    this.sights.forget(id);
    await call(id);
  }

  private async save(value: Subscription, before: HeldSubscription | undefined): Promise<HeldSubscription> {
    await this.deps.lease.check();
    return this.deps.subscriptions.save(value, before);
  }

  private async forget({ value, revision }: HeldSubscription): Promise<void> {
    await this.deps.lease.check();
    await this.deps.subscriptions.remove(value.mon_data_id, revision);
    if (value.subscription_id !== null) this.deps.otherForms.delete(value.subscription_id);
  }

  private record(
    { params: _, paramsLength: __, ...target }: Target,
    rest: Pick<Subscription, 'subscription_id' | 'state' | 'created' | 'intent'>,
  ): Subscription {
    return { ...target, ...rest, updated: this.deps.now() };
  }

  /**
   * Sends the create call of `intent` and stores its answer. A refusal of the first try with a key proves that no
   * subscription exists, so the intent is given up; after any other failure the next run makes the same call again, or
   * `repeatCreate` gives it up.
   */
  private async finishCreate(held: HeldSubscription, isFirst: boolean): Promise<HeldSubscription> {
    const { intent, mon_data_id } = held.value;
    if (intent === undefined) {
      throw new Fault('internal', 'record_invalid', `subscription.${mon_data_id} is creating without intent`);
    }
    await this.deps.lease.check();
    const id = await this.nodeManagement
      .create(mon_data_id, intent.params, intent.key)
      .catch(async (error: unknown) => {
        if (isFirst && error instanceof Fault && error.kind === 'permanent') await this.forget(held);
        throw error;
      });
    const { intent: _, ...value } = held.value;
    return this.save({ ...value, subscription_id: id, state: 'installing', updated: this.deps.now() }, held);
  }

  /** Undefined where the repeat is refused for its parameters, and no later one would send these again. */
  private async repeatCreate(
    held: HeldSubscription,
    target: Target | undefined,
  ): Promise<HeldSubscription | undefined> {
    try {
      const made = await this.finishCreate(held, false);
      const { subscription_id } = made.value;
      this.deps.onOrphan({ ...held.value, subscription_id }, 'create_repeated');
      return made;
    } catch (error) {
      if (!refusesParams(error) || held.value.params_md5 === target?.params_md5) throw error;
      this.deps.onOrphan(held.value, 'create_refused');
      return undefined;
    }
  }

  private idOf({ value }: HeldSubscription): number {
    if (value.subscription_id !== null) return value.subscription_id;
    throw new Fault('internal', 'record_invalid', `subscription.${value.mon_data_id} has no subscription_id`);
  }

  private async create(target: Target, before: HeldSubscription | undefined): Promise<void> {
    const created = this.deps.now();
    if (!this.nodeManagement.isRemote) {
      await this.save(
        this.record(target, { subscription_id: target.mon_data_id, state: 'active', created }),
        before,
      );
      return;
    }
    const intent = { key: `tidemark-${target.mon_data_id}-${randomUUID()}`, params: target.params };
    const begun = await this.save(
      this.record(target, { subscription_id: null, state: 'creating', created, intent }),
      before,
    );
    const made = await this.finishCreate(begun, true);
    await this.change(made, (id) => this.nodeManagement.enable(id));
    await this.change(made, (id) => this.nodeManagement.install(id));
    await this.save({ ...made.value, state: 'active', updated: this.deps.now() }, made);
  }

  /**
   * Sends an existing subscription in full, also after a process that was killed during a delivery. `isOther`: the
   * record says that this was done. Node management may keep the content of an update that fails, and then shows it
   * though no host got it, so that the record first says that it is to be sent.
   */
  private async replace(target: Target, given: HeldSubscription, isOther = false): Promise<void> {
    let held = given;
    if (this.nodeManagement.isRemote) {
      await this.requireOwn(held);
      if (isOther)
        held = await this.save({ ...held.value, state: 'installing', updated: this.deps.now() }, held);
      await this.change(held, (id) => this.nodeManagement.enable(id));
      await this.change(held, (id) => this.nodeManagement.update(id, target.params));
    }
    const { subscription_id, created } = held.value;
    await this.save(this.record(target, { subscription_id, state: 'active', created }), held);
    if (isOther && subscription_id !== null) await this.learnForm(subscription_id, target);
  }

  /** `isOther`: node management has other content than the record says. */
  private async deliverFresh(target: Target, isOther: boolean): Promise<'created' | 'updated' | 'unchanged'> {
    const held = await this.deps.subscriptions.read(target.mon_data_id);
    if (held === undefined) return this.create(target, undefined).then(() => 'created');
    if (held.value.adapter !== target.adapter) {
      if (held.value.adapter === 'http') this.deps.onOrphan(held.value, 'api_left');
      return this.create(target, held).then(() => 'created');
    }
    switch (held.value.state) {
      case 'creating': {
        const made = await this.repeatCreate(held, target);
        await (made === undefined ? this.create(target, held) : this.replace(target, made));
        return 'created';
      }
      case 'installing':
        return this.replace(target, held).then(() => 'created');
      case 'deleting':
        // The delete call was not made yet: the subscription is still there.
        if (held.value.removal !== 'uninstalled') return this.replace(target, held).then(() => 'updated');
        await this.removeHeld(held, undefined);
        return this.create(target, undefined).then(() => 'created');
      default:
        if (!isOther && holds(held.value, target)) return 'unchanged';
        return this.replace(target, held, isOther).then(() => 'updated');
    }
  }

  /** The parameters for a last delivery; undefined where no host would get it. */
  private refusingParams(refusing: CollectorValues | undefined): SubscriptionParams | undefined {
    try {
      return refusing && this.nodeManagement.describe(refusing);
    } catch (error) {
      if (hasCode(error, 'hosts_missing')) return undefined;
      throw error;
    }
  }

  /** Each step is written down: a repeat of an earlier one would make node management refuse the next, as it is busy. */
  private async withdraw(
    given: HeldSubscription,
    refusing: CollectorValues | undefined,
  ): Promise<HeldSubscription> {
    let held = given;
    try {
      await this.requireOwn(held);
      if (held.value.removal === undefined) {
        const params = this.refusingParams(refusing);
        if (params !== undefined) await this.change(held, (id) => this.nodeManagement.update(id, params));
        held = await this.save({ ...held.value, removal: 'limited' }, held);
      }
      if (held.value.removal === 'limited') {
        await this.change(held, (id) => this.nodeManagement.uninstall(id));
        held = await this.save({ ...held.value, removal: 'uninstalled' }, held);
      }
      await this.change(held, (id) => this.nodeManagement.delete(id));
    } catch (error) {
      if (!hasCode(error, 'subscription_missing')) throw error;
    }
    return held;
  }

  private async removeHeld(given: HeldSubscription, refusing: CollectorValues | undefined): Promise<void> {
    let held = given;
    if (held.value.adapter !== this.nodeManagement.name) {
      if (held.value.adapter === 'http') this.deps.onOrphan(held.value, 'api_left');
      return this.forget(held);
    }
    if (this.nodeManagement.isRemote) {
      // A subscription that may have been created must be found before it can be deleted.
      if (held.value.state === 'creating') {
        const made = await this.repeatCreate(held, undefined);
        if (made === undefined) return this.forget(held);
        held = made;
      }
      if (held.value.state !== 'deleting') held = await this.save({ ...held.value, state: 'deleting' }, held);
      held = await this.withdraw(held, refusing);
    }
    await this.forget(held);
  }
}

export const createDelivery = (deps: DeliveryDeps): Delivery => new Deliveries(deps);
