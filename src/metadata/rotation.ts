import { recordKeys } from '../directory/keys.ts';
import { Fault } from '../model/fault.ts';
import type { Application, DataSource, PreviousToken } from '../model/records.ts';
import { isGone } from './deletion.ts';
import type { ChangeBy } from './life-cycle.ts';
import { isConflict, preconditionFailed, type RecordSet, type Records } from './record-store.ts';
import { modified, newToken, nowSeconds } from './values.ts';

/** What a rotation answers: the new token, and until when (Unix seconds) the one before is taken too. */
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
  readonly id: number;
  readonly overlapSeconds: number;
  readonly by: ChangeBy;
  readonly refuse: (record: T) => void;
  /** Called with the new token before any receiver may be asked about it. */
  readonly announce: (token: string) => Promise<void>;
};

/**
 * The old token goes into its own record first: cut off in between, both records name the same token and nobody is refused.
 */
const rotate = async <T extends Tokened>(rotation: Rotation<T>): Promise<Rotated<T>> => {
  const { set, previous, id, by } = rotation;
  for (let tries = 0; tries < conflictsMax; tries++) {
    const current = await set.get(id);
    if (current === undefined) {
      throw new Fault('permanent', 'not_found', `there is no ${set.kind.replaceAll('_', ' ')} ${id}`);
    }
    if (by.revision !== undefined && by.revision !== current.revision) {
      throw preconditionFailed(current.revision);
    }
    rotation.refuse(current.value);
    const previousExpiresAt = nowSeconds() + rotation.overlapSeconds;
    await previous.put(id, { token: current.value.token, expires_at: previousExpiresAt });
    const token = newToken();
    await rotation.announce(token);
    try {
      const next: T = { ...modified(current.value, by.operator, {}), token };
      const stored = await set.update(id, next, current.revision);
      return { ...stored, previousExpiresAt };
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
  throw new Fault('transient', 'kv_contended', 'too many others write the same record');
};

/**
 * Gives a data source a new token; the one before is taken for `overlapSeconds` more, and the one before that not at all.
 * Permanent Faults `not_found`, `report_not_active` when its report is not, `precondition_failed`.
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

/** The same for an application's write token. Permanent Faults `not_found`, `application_deleted`, `precondition_failed`. */
export const rotateApplicationToken = (
  records: Records,
  appId: number,
  overlapSeconds: number,
  by: ChangeBy,
): Promise<Rotated<Application>> =>
  rotate({
    set: records.applications,
    previous: records.previousApplicationTokens,
    id: appId,
    overlapSeconds,
    by,
    announce: (token) => records.point(recordKeys.applicationToken(token), appId),
    refuse: ({ is_delete }) => {
      if (is_delete) throw new Fault('permanent', 'application_deleted', `application ${appId} is deleted`);
    },
  });
