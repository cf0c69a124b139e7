import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type ApplicationPolicy, applicationPolicySchema } from './policies.ts';

/** What the trace receiver needs of one application; rebuilt whenever its record or its policy changes. */
export type ApplicationSource = {
  readonly appId: number;
  readonly bizId: number;
  readonly isEnabled: boolean;
  /** As recorded: requests per second, < -1 none, -1 the default, 0 unlimited. */
  readonly maxRate: number;
  /** A byte-identical request is stored once (design section 5); false = as often as it is sent. */
  readonly deduplicate: boolean;
  /** An empty net.host.ip is filled with the client's address. */
  readonly fillDimensions: boolean;
};

const applicationFields = z.object({
  app_id: z.number(),
  mon_biz_id: z.number(),
  token: z.string(),
  is_enable: z.boolean(),
  is_delete: z.boolean(),
  max_rate: z.number(),
});

type Known = {
  record?: z.infer<typeof applicationFields> | undefined;
  policy?: ApplicationPolicy | undefined;
};

const keyPattern = /^(application|application_policy)\.(\d{1,15})$/;

const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64');

/** The applications in memory, found by token. */
export type Applications = {
  /** Takes a change of a KV key; false when the key is not one of an application. Throws when the value does not parse. */
  apply(key: string, value: unknown): boolean;
  /** Forgets every application whose key was not seen in a whole reading. */
  keepOnly(seen: ReadonlySet<string>): void;
  byToken(token: string): ApplicationSource | undefined;
};

/** Lookups compare digests, so that their time says nothing about a token. */
export const createApplications = (): Applications => {
  const known = new Map<number, Known>();
  const byDigest = new Map<string, ApplicationSource>();

  const index = (entry: Known): void => {
    const { record, policy } = entry;
    if (record === undefined) return;
    byDigest.set(digestOf(record.token), {
      appId: record.app_id,
      bizId: record.mon_biz_id,
      isEnabled: record.is_enable && !record.is_delete,
      maxRate: record.max_rate,
      deduplicate: policy?.deduplicate ?? true,
      fillDimensions: policy?.fill_dimensions ?? true,
    });
  };

  const unindex = (entry: Known): void => {
    if (entry.record !== undefined) byDigest.delete(digestOf(entry.record.token));
  };

  const set = (kind: string, appId: number, value: unknown): void => {
    const entry = known.get(appId) ?? {};
    const changed: Known =
      kind === 'application'
        ? { ...entry, record: value === undefined ? undefined : applicationFields.parse(value) }
        : { ...entry, policy: value === undefined ? undefined : applicationPolicySchema.parse(value) };
    unindex(entry);
    known.set(appId, changed);
    index(changed);
  };

  return {
    apply: (key, value) => {
      const match = keyPattern.exec(key);
      if (match === null) return false;
      set(match[1] ?? '', Number(match[2]), value);
      return true;
    },
    keepOnly: (seen) => {
      for (const [appId, entry] of known) {
        if (!seen.has(`application.${appId}`)) {
          unindex(entry);
          known.delete(appId);
        } else if (entry.policy !== undefined && !seen.has(`application_policy.${appId}`)) {
          set('application_policy', appId, undefined);
        }
      }
    },
    byToken: (token) => byDigest.get(digestOf(token)),
  };
};
