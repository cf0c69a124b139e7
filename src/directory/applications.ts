import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { type ApplicationPolicy, applicationPolicySchema } from './policies.ts';
import {
  applicationSchema,
  type IdentityCredential,
  identityCredentialSchema,
  type PreviousToken,
  previousTokenSchema,
} from './records.ts';
import { type ApplicationRules, applicationRules } from './rules.ts';
import { expiryMs } from './tokens.ts';

/**
 * The facts of one application that the receivers of OTLP need; rebuilt when its record, its policy or its previous token
 * changes.
 */
export type ApplicationSource = {
  readonly appId: number;
  readonly bizId: number;
  readonly isEnabled: boolean;
  /** As recorded: requests per second, < -1 none, -1 the default, 0 unlimited. */
  readonly maxRate: number;
  readonly rules: ApplicationRules;
  /** A byte-identical request is stored once (architecture 5.2); false = as often as it is sent. */
  readonly deduplicate: boolean;
  /** The first token, which identifies repeats, where it differs from the present one. */
  readonly identityCredential: string | undefined;
  /** An empty net.host.ip is filled with the client's address. */
  readonly fillDimensions: boolean;
};

const grantedSchema = applicationSchema.pick({
  app_id: true,
  mon_biz_id: true,
  token: true,
  is_enable: true,
  is_delete: true,
  max_rate: true,
});

type Known = {
  readonly record?: z.infer<typeof grantedSchema> | undefined;
  readonly policy?: ApplicationPolicy | undefined;
  readonly previous?: PreviousToken | undefined;
  readonly identity?: IdentityCredential | undefined;
};

/** The rights of a token, and their end (Unix milliseconds). */
type Grant = { readonly application: ApplicationSource; readonly untilMs: number };

const keyPattern =
  /^(application|application_policy|previous_application_token|application_identity)\.(\d{1,15})$/;

const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64');

/** The applications in memory, found by token. */
export type Applications = {
  /** Takes a change of a KV key; false when the key is not one of an application. Throws when the value does not parse. */
  apply(key: string, value: unknown): boolean;
  /** Forgets entries that a complete reading lacked. */
  keepOnly(seen: ReadonlySet<string>): void;
  /** The application that takes this token at this time (Unix milliseconds): its current one, or the one before until it expires. */
  byToken(token: string, nowMs: number): ApplicationSource | undefined;
  /** Whether this is a token of any application, expired or not. */
  holdsToken(text: string): boolean;
};

/** Lookups compare digests, so that their time reveals nothing about a token. `defaults`: the rules without a policy. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one index, and what is read from it.
export const createApplications = (defaults: ApplicationRules): Applications => {
  const known = new Map<number, Known>();
  const grants = new Map<string, Grant>();
  const inherited = applicationRules(undefined, defaults);

  const tokensOf = ({ record, previous }: Known): string[] =>
    [record?.token, previous?.token].filter((token) => token !== undefined);

  const grant = ({ record, policy, previous, identity }: Known): void => {
    if (record === undefined) return;
    const application: ApplicationSource = {
      appId: record.app_id,
      bizId: record.mon_biz_id,
      isEnabled: record.is_enable && !record.is_delete,
      maxRate: record.max_rate,
      rules: policy === undefined ? inherited : applicationRules(policy, defaults),
      deduplicate: policy?.deduplicate ?? true,
      fillDimensions: policy?.fill_dimensions ?? true,
      identityCredential: identity?.identity_credential,
    };
    // A rotation names the current token as the previous one first: as the current one it does not expire.
    if (previous !== undefined)
      grants.set(digestOf(previous.token), { application, untilMs: expiryMs(previous) });
    grants.set(digestOf(record.token), { application, untilMs: Number.POSITIVE_INFINITY });
  };

  const replace = (appId: number, entry: Known): void => {
    for (const token of tokensOf(known.get(appId) ?? {})) {
      const digest = digestOf(token);
      if (grants.get(digest)?.application.appId === appId) grants.delete(digest);
    }
    known.set(appId, entry);
    grant(entry);
  };

  const changed = (entry: Known, kind: string, value: unknown): Known => {
    const parse = <T>(schema: z.ZodType<T>): T | undefined =>
      value === undefined ? undefined : schema.parse(value);
    if (kind === 'application') return { ...entry, record: parse(grantedSchema) };
    if (kind === 'application_identity') return { ...entry, identity: parse(identityCredentialSchema) };
    if (kind === 'application_policy') return { ...entry, policy: parse(applicationPolicySchema) };
    return { ...entry, previous: parse(previousTokenSchema) };
  };

  return {
    apply: (key, value) => {
      const match = keyPattern.exec(key);
      if (match === null) return false;
      const appId = Number(match[2]);
      replace(appId, changed(known.get(appId) ?? {}, match[1] ?? '', value));
      return true;
    },
    keepOnly: (seen) => {
      for (const [appId, { record, policy, previous, identity }] of known) {
        const kept: Known = {
          record: seen.has(`application.${appId}`) ? record : undefined,
          policy: seen.has(`application_policy.${appId}`) ? policy : undefined,
          previous: seen.has(`previous_application_token.${appId}`) ? previous : undefined,
          identity: seen.has(`application_identity.${appId}`) ? identity : undefined,
        };
        const isChanged =
          kept.record !== record ||
          kept.policy !== policy ||
          kept.previous !== previous ||
          kept.identity !== identity;
        if (isChanged) replace(appId, kept);
      }
    },
    holdsToken: (text) => grants.has(digestOf(text)),
    byToken: (token, nowMs) => {
      const found = grants.get(digestOf(token));
      return found !== undefined && nowMs < found.untilMs ? found.application : undefined;
    },
  };
};
