import { unlessConflict } from '../../bus/kv.ts';
import { recordKeys } from '../../directory/keys.ts';
import type { Application, DataSource, IdentityCredential, PreviousToken } from '../../directory/records.ts';
import { Fault } from '../../model/fault.ts';
import { nowSeconds } from '../../model/time.ts';
import {
  existing,
  preconditionFailed,
  type RecordSet,
  type Records,
  recordText,
  type Versioned,
} from '../records/store.ts';
import { modified, newToken } from '../records/values.ts';
import { isGone } from './deletion.ts';
import type { ChangeBy } from './life-cycle.ts';

/** The result of a rotation: the new token, and until when (Unix seconds) receivers accept the one before too. */
export type Rotated<T> = {
  readonly value: T;
  readonly revision: number;
  readonly previousExpiresAt: number;
};

type Tokened = DataSource | Application;

const conflictsMax = 20;

type Rotation<T extends Tokened> = {
  readonly set: RecordSet<T>;
  readonly previous: RecordSet<PreviousToken>;
  readonly identities: RecordSet<IdentityCredential>;
  readonly id: number;
  readonly overlapSeconds: number;
  readonly by: ChangeBy;
  readonly refuse: (record: T) => void;
  /** Called with the new token before any receiver may get it. */
  readonly announce: (token: string) => Promise<void>;
};

type Swap<T extends Tokened> = {
  readonly rotation: Rotation<T>;
  readonly current: Versioned<T>;
  /** The previous token as it was before `current` was read. */
  readonly before: Versioned<PreviousToken> | undefined;
  readonly previousExpiresAt: number;
};

/**
 * Stores the first token, which identifies repeats, before another one exists: a receiver with the new token has this
 * one too, because a watch delivers changes in their order.
 */
const keepIdentity = async <T extends Tokened>(
  { identities, id }: Rotation<T>,
  { value }: Versioned<T>,
): Promise<void> => {
  if ((await identities.get(id)) !== undefined) return;
  await unlessConflict(identities.create(id, { identity_credential: value.token }));
};

/**
 * Stores the new token; undefined when another call changed the record meanwhile. A repeat of a call whose write is done
 * and whose answer is lost would take the new token, which no sender has, for the one before, and end the one they use.
 */
const storeToken = async <T extends Tokened>(
  { set, id }: Rotation<T>,
  next: T,
  revision: number,
): Promise<Versioned<T> | undefined> => {
  try {
    return await unlessConflict(set.update(id, next, revision));
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'transient') throw error;
    const stored = await set.get(id).catch(() => undefined);
    if (stored?.value.token === next.token) return stored;
    throw new Fault(
      'transient',
      'rotation_unknown',
      `${recordText(set, id)} may have its new token: no answer came to the write (${error.message})`,
      error,
    );
  }
};

/**
 * The old token goes into its own record first: after an interruption in between, both records name the same token and
 * every sender is still accepted. Returns undefined when another call changed either record meanwhile. Then the previous
 * token is restored: a refused call must neither extend the life of an old token nor end that of the one before it. For the same reason the
 * announcement is first: where it fails, NATS is away for what would restore too. The token is not restored where the write of the new
 * token got no answer: it may still come, and would leave out the token in use.
 */
const swap = async <T extends Tokened>({
  rotation,
  current,
  before,
  previousExpiresAt,
}: Swap<T>): Promise<Versioned<T> | undefined> => {
  const { previous, id, by, announce } = rotation;
  const replaced = { token: current.value.token, expires_at: previousExpiresAt };
  const token = newToken();
  await announce(token);
  const kept = await unlessConflict(
    before === undefined ? previous.create(id, replaced) : previous.update(id, replaced, before.revision),
  );
  if (kept === undefined) return undefined;
  const next: T = { ...modified(current.value, by.operator, {}), token };
  const stored = await storeToken(rotation, next, current.revision);
  if (stored === undefined && before !== undefined)
    await unlessConflict(previous.update(id, before.value, kept.revision));
  return stored;
};

const rotate = async <T extends Tokened>(rotation: Rotation<T>): Promise<Rotated<T>> => {
  const { set, previous, id, by } = rotation;
  for (let tries = 0; tries < conflictsMax; tries++) {
    const before = await previous.get(id);
    const current = await existing(set, id);
    if (by.revision !== undefined && by.revision !== current.revision) {
      throw preconditionFailed(current.revision, recordText(set, id));
    }
    rotation.refuse(current.value);
    await keepIdentity(rotation, current);
    const previousExpiresAt = nowSeconds() + rotation.overlapSeconds;
    const stored = await swap({ rotation, current, before, previousExpiresAt });
    if (stored !== undefined) return { ...stored, previousExpiresAt };
  }
  throw new Fault('transient', 'kv_contended', 'too many concurrent changes of the record');
};

/**
 * Gives a data source a new token; the one before stays valid for `overlapSeconds` more, and the one before that
 * becomes invalid. Permanent Faults `not_found`, `report_not_active` when its report is in another state,
 * `precondition_failed`; transient `rotation_unknown` when the new token may be stored: reveal it before a repeat.
 */
export const rotateDataSourceToken = (
  records: Records,
  dataId: number,
  overlapSeconds: number,
  by: ChangeBy,
): Promise<Rotated<DataSource>> =>
  rotate({
    set: records.dataSources,
    previous: records.previousTokens,
    identities: records.sourceIdentities,
    id: dataId,
    overlapSeconds,
    by,
    announce: async () => {},
    refuse: () => {
      const report = records.reportOf(dataId);
      if (report !== undefined && isGone(report)) {
        throw new Fault(
          'permanent',
          'report_not_active',
          `the report of data id ${dataId} is ${report.state}`,
        );
      }
    },
  });

/**
 * The same for an application's write token. Permanent Faults `not_found`, `application_deleted`, `precondition_failed`;
 * transient `rotation_unknown`.
 */
export const rotateApplicationToken = (
  records: Records,
  appId: number,
  overlapSeconds: number,
  by: ChangeBy,
): Promise<Rotated<Application>> =>
  rotate({
    set: records.applications,
    previous: records.previousApplicationTokens,
    identities: records.applicationIdentities,
    id: appId,
    overlapSeconds,
    by,
    announce: (token) => records.point(recordKeys.applicationToken(token), appId),
    refuse: ({ is_delete }) => {
      if (is_delete) throw new Fault('permanent', 'application_deleted', `application ${appId} is deleted`);
    },
  });
