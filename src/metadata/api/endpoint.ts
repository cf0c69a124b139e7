import { z } from 'zod';
import { Fault } from '../../model/fault.ts';
import type { AuditAction, AuditKind } from '../audit/actions.ts';
import { parseInput } from '../problem.ts';
import { preconditionFailed, type Records } from '../records/store.ts';
import { authorOf } from '../records/texts.ts';
import type { AdminIdentity } from '../tokens/admin-token-state.ts';
import type { AdminRole } from '../tokens/roles.ts';
import { type Note, notingRecords } from './noting.ts';

/** The input of an endpoint: parameters, query and body in the types of their schemas, and If-Match. */
export type Input<P, Q, B> = {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** The revision of those of If-Match that the record had; undefined without one. */
  readonly revision: number | undefined;
  readonly identity: AdminIdentity;
  /** The host that the caller asked, as its request names it. */
  readonly host: string | undefined;
  /** The recorded author, see `authorOf`. */
  readonly author: string;
  /** The records; the audit notes each write through them. */
  readonly records: Records;
  /** Reports writes elsewhere to the audit. */
  readonly note: Note;
  /** Aborted when the caller closes its connection before the answer. */
  readonly signal: () => AbortSignal;
};

/** A 200: its JSON, the revision that becomes the ETag where the answer is one record, and the same as CSV where it is a table. */
export type Answer = { readonly body: unknown; readonly revision?: number; readonly csv?: Csv };

/** A table as CSV, and the name of its file. */
export type Csv = { readonly name: string; readonly text: () => string };

/** The audit's description of a call; `id` is undefined where a creation has none yet. */
export type AuditTarget = {
  readonly action: AuditAction;
  readonly kind: AuditKind;
  readonly id: string | undefined;
};

/** The schema of an input that an endpoint does not have. */
const none = z.undefined();
type None = typeof none;

type Description = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With parameters as `{name}`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  /** The least role that may call it. */
  readonly role: AdminRole;
  /** The schema of its 200's JSON. */
  readonly answer: z.ZodType;
  /** Its 200 is a table: `format=csv`, or an Accept that wants text/csv, asks for CSV. */
  readonly hasCsv?: true;
  /** Its query or its body names a record: 404 where that does not exist. A path with parameters always names one. */
  readonly namesRecord?: true;
  /** Its 200 has an ETag. An endpoint that reads If-Match always has one. */
  readonly hasEtag?: true;
  /** A session of the console may call it only within five minutes after its token was presented. */
  readonly needsProof?: true;
  /** It runs a bounded query of stored items: 404 for unknown names, 409 before the first row, 429 for too many at once, 504 for too long. */
  readonly isQuery?: true;
  /** Largest body in bytes; a MiB by default. */
  readonly bodyBytesMax?: number;
};

type Definition<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> = Description & {
  /** Without one of these three, the endpoint has no such input. */
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /**
   * The record's current revision, and its name where it is another record than that of the path: If-Match is compared with it before
   * the body is read. Throws `not_found`.
   */
  readonly revisionOf?: (
    params: z.output<P>,
    records: Records,
  ) => Promise<{ readonly revision: number; readonly what?: string }>;
  /** Throws a permanent Fault for a caller that has to wait, before anything of the call is written: its answers may be 429. */
  readonly refuse?: (caller: { readonly identity: AdminIdentity }) => void;
  /** Present on every endpoint that writes; undefined for a call that changes nothing, as a dry run, which is not audited. */
  readonly audit?: (
    params: z.output<P>,
    body: z.output<B>,
    records: Records,
  ) => AuditTarget | undefined | Promise<AuditTarget>;
  readonly run: (input: Input<z.output<P>, z.output<Q>, z.output<B>>) => Promise<Answer>;
};

/** The input of a request before validation. */
export type RawInput = {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** Reads and parses the body. */
  readonly body: () => Promise<unknown>;
  /** Those of If-Match, any of which the record must have; undefined without one. */
  readonly revisions: readonly number[] | undefined;
  readonly host: string | undefined;
  readonly identity: AdminIdentity;
  readonly records: Records;
  readonly signal: () => AbortSignal;
};

/** A call whose input is valid. */
export type Prepared = {
  readonly target: AuditTarget | undefined;
  readonly body: unknown;
  /** Runs it; reports each of its writes to `note`. */
  run(note: Note): Promise<Answer>;
};

/** One endpoint of the admin API; the routes and the OpenAPI document are both made of these. */
export type Endpoint = Description & {
  readonly schemas: { readonly params: z.ZodType; readonly query: z.ZodType; readonly body: z.ZodType };
  /** True where the endpoint reads If-Match. */
  readonly isConditional: boolean;
  /** True where a caller may have to wait. */
  readonly isLimited: boolean;
  readonly isWrite: boolean;
  /** Validates parameters, If-Match, query and body, in this order. Throws permanent Faults. */
  prepare(raw: RawInput): Promise<Prepared>;
};

/** Unknown parameters are refused everywhere: a caller that sends one expects an effect. */
const noQuery = z.strictObject({});

const isTaken = (schema: z.ZodType): boolean => !(schema instanceof z.ZodUndefined);

const parseParams = (schema: z.ZodType, raw: RawInput['params'], path: string): unknown => {
  const result = schema.safeParse(isTaken(schema) ? raw : undefined);
  if (result.success) return result.data;
  const what = path.split('/').findLast((part) => !part.startsWith('{')) ?? '';
  throw new Fault('permanent', 'not_found', `${what} has no ${Object.values(raw).join()}`);
};

/** The operator that a valid body names; undefined without one, and for a body without such a field. */
export const operatorOf = (body: unknown): string | undefined => {
  const operator: unknown =
    typeof body === 'object' && body !== null ? Reflect.get(body, 'operator') : undefined;
  return typeof operator === 'string' ? operator : undefined;
};

type AnyDefinition = Definition<z.ZodType, z.ZodType, z.ZodType>;

/** The one of the revisions of If-Match that the record has now. Permanent Fault `precondition_failed`. */
const demandedRevision = async (
  revisionOf: NonNullable<AnyDefinition['revisionOf']>,
  params: unknown,
  { revisions, records }: RawInput,
): Promise<number | undefined> => {
  if (revisions === undefined) return undefined;
  const { revision, what } = await revisionOf(params, records);
  if (!revisions.includes(revision)) throw preconditionFailed(revision, what);
  return revision;
};

/** Ties the schemas and the function of an endpoint together. */
export function endpoint<P extends z.ZodType = None, Q extends z.ZodType = None, B extends z.ZodType = None>(
  definition: Definition<P, Q, B>,
): Endpoint;
export function endpoint(definition: AnyDefinition): Endpoint {
  const {
    params: paramsSchema = none,
    query: querySchema = none,
    body: bodySchema = none,
    run,
    audit,
    revisionOf,
    refuse,
    ...rest
  } = definition;
  return {
    ...rest,
    schemas: { params: paramsSchema, query: querySchema, body: bodySchema },
    isConditional: revisionOf !== undefined,
    isLimited: refuse !== undefined,
    isWrite: audit !== undefined,
    prepare: async (raw) => {
      const params = parseParams(paramsSchema, raw.params, rest.path);
      const revision = revisionOf && (await demandedRevision(revisionOf, params, raw));
      if (!isTaken(querySchema)) parseInput(noQuery, raw.query);
      const query = parseInput(querySchema, isTaken(querySchema) ? raw.query : undefined);
      const rawBody = isTaken(bodySchema) ? await raw.body() : undefined;
      const body = parseInput(bodySchema, rawBody);
      const { identity, host, signal } = raw;
      // Only from a body with known fields: a merge patch may have any field.
      const author = authorOf(definition.method === 'PATCH' ? undefined : operatorOf(body), identity.name);
      refuse?.({ identity });
      return {
        target: await audit?.(params, body, raw.records),
        body: rawBody,
        run: (note) => {
          const records = notingRecords(raw.records, note);
          return run({ params, query, body, revision, host, identity, author, records, note, signal });
        },
      };
    },
  };
}
