import type { z } from 'zod';
import { errorText, Fault } from '../model/fault.ts';
import { patternTextMax } from '../model/text-forms.ts';

/** An error answer of the admin API: `application/problem+json`, RFC 9457. `code` is stable, `field` a path into the input. */
export type Problem = {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  field?: string;
  remedy?: string;
};

type Kind = { readonly status: number; readonly title: string; readonly remedy?: string };

const conflict = (title: string, remedy: string): Kind => ({ status: 409, title, remedy });

/** Every code that the API answers with. A Fault with another code is a 503 when transient and else a 500. */
const kinds: Readonly<Record<string, Kind>> = {
  body_not_json: { status: 400, title: 'The body is not JSON', remedy: 'Send one JSON object.' },
  invalid_value: {
    status: 422,
    title: 'A value is invalid',
    remedy: 'Correct the field and repeat the request.',
  },
  forbidden: {
    status: 403,
    title: 'The role of the token does not allow this',
    remedy: 'Use a token with the role in the detail.',
  },
  precondition_failed: {
    status: 412,
    title: 'Another call changed the record',
    remedy: 'Read the record again, then repeat the change with its new ETag in If-Match.',
  },
  fixed_at_creation: conflict('The field is fixed', 'Omit the field, or create another record.'),
  has_own_operation: conflict(
    'The field is changed by an operation of its own',
    'POST to /enable or /disable below the address of the record.',
  ),
  record_deleted: conflict('The record is deleted', 'Deletion cannot be undone; create another record.'),
  belongs_to_report: conflict('The record belongs to a report', 'Delete or purge the report.'),
  purge_not_confirmed: conflict('The purge is not confirmed', 'Repeat the table_id of the report exactly.'),
  table_missing: conflict(
    'The table does not exist',
    'To free the name, create a time series group and a table for the data id, then purge it.',
  ),
  import_conflict: conflict(
    'The deployment has other records with these ids',
    'Import into an empty deployment, or into one with the same records.',
  ),
  data_id_purged: conflict(
    'The data id is purged',
    'Create another data id; a purged id is never used again.',
  ),
  admin_tokens_full: conflict('The limit of admin tokens is reached', 'Revoke unused tokens.'),
  last_admin_token: conflict(
    'The token is the last admin token',
    'Create another token of the role admin without an end first.',
  ),
  unauthorized: {
    status: 401,
    title: 'No valid admin token',
    remedy: 'Send Authorization: Bearer with the content of admin.token in the data folder of metadata.',
  },
  login_refused: {
    status: 401,
    title: 'The log-in is refused',
    remedy: 'Use a valid admin token, or run tidemark console for a new link.',
  },
  too_many_attempts: {
    status: 429,
    title: 'Too many attempts',
    remedy: 'Wait a minute, then try again.',
  },
  transport_open: {
    status: 403,
    title: 'The connection is not encrypted',
    remedy:
      'Set TIDEMARK_METADATA_TLS_CERT_FILE and TIDEMARK_METADATA_TLS_KEY_FILE, or name the proxy that ends TLS in TIDEMARK_METADATA_TRUSTED_PROXIES. For a port of a container that is published on 127.0.0.1 alone, set TIDEMARK_CONSOLE_LOCAL_PEERS=gateway (docs/console.md).',
  },
  cross_site: {
    status: 403,
    title: 'The request is not from the console',
    remedy: 'Use the console in its own tab, or call the API with a bearer token.',
  },
  step_up_required: {
    status: 403,
    title: 'The admin token must be presented again',
    remedy: 'Present the admin token again; it counts for five minutes.',
  },
  console_off: conflict('The console is off', 'Set TIDEMARK_CONSOLE=on for metadata.'),
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'The method is not allowed' },
  body_too_large: { status: 413, title: 'The body is too large' },
  name_taken: conflict('The name is taken', 'Choose another name, or use the record with this name.'),
  creation_in_progress: conflict(
    'Another call is creating the record',
    'Read the record in a moment; to finish an abandoned creation, repeat the call.',
  ),
  creation_differs: conflict('A half created report has other values', 'Send the values of the first call.'),
  data_source_missing: conflict('The data source is missing', 'Create the data source first.'),
  group_missing: conflict('The time series group is missing', 'Create the time series group first.'),
  group_exists: conflict(
    'The data id has a group',
    'A data id has only one group; create another data source.',
  ),
  table_exists: conflict('The table exists', 'No action is needed.'),
  table_id_differs: conflict('The data id has another table', 'Omit table_id.'),
  // No 503: that one may be repeated as it is.
  rotation_unknown: conflict(
    'It is not known whether the token was rotated',
    'Reveal the token first: a new one is that of this rotation; repeat the rotation only if it is the old one.',
  ),
  report_not_active: conflict('The report is not active', 'Only active reports can be changed.'),
  application_deleted: conflict('The application is deleted', 'Create it again; it gets a new token.'),
  data_ids_exhausted: conflict('No data ids are left', 'Every data id is in use; use a new deployment.'),
  clickhouse_rejected: {
    status: 503,
    title: 'ClickHouse refuses the query',
    remedy: 'Run tidemark migrate; if the tables exist, check the ClickHouse account of metadata.',
  },
  questdb_instance_unknown: {
    status: 503,
    title: 'The settings lack the QuestDB instance of the table',
    remedy:
      'Restart metadata with the instance in TIDEMARK_QUESTDB_URLS, then repeat the request; until then it is refused.',
  },
  questdb_table_elsewhere: conflict(
    'The table is on another QuestDB instance',
    'Import an export that has the placement of the table.',
  ),
  too_many_readers: {
    status: 503,
    title: 'The limit of live readers is reached',
    remedy: 'Stop one of them, or list the stored samples.',
  },
  explore_off: {
    status: 404,
    title: 'Queries are switched off',
    remedy: 'Set TIDEMARK_CONSOLE_EXPLORE to viewer or editor, or query the databases directly.',
  },
  unknown_name: {
    status: 404,
    title: 'The table has no such name',
    remedy: 'Use a metric or a dimension that tidemark report columns lists.',
  },
  not_stored_yet: conflict(
    'QuestDB has no such rows yet',
    'Repeat the query once the first points are stored.',
  ),
  too_many_queries: {
    status: 429,
    title: 'Too many queries at once',
    remedy: 'Wait for one of them, then repeat the query.',
  },
  query_timeout: {
    status: 504,
    title: 'The query took too long',
    remedy: 'Narrow the time, or add a filter.',
  },
  query_too_large: {
    status: 422,
    title: 'The query reads or answers too much',
    remedy: 'Narrow the time, or add a filter.',
  },
  // Nobody reads them: the status that proxies log for such calls.
  query_cancelled: { status: 499, title: 'The caller went away' },
  caller_gone: { status: 499, title: 'The caller went away' },
  not_redrivable: conflict(
    'The dead letter cannot be redriven',
    'Fix the cause in the detail and redrive it again, or purge it.',
  ),
  dead_letter_busy: conflict('Another act on the dead letter is unfinished', 'Repeat the act in the detail.'),
  kv_conflict: conflict('Another call changed the record', 'Read the record again and repeat the call.'),
};

const kindOf = (fault: Fault): Kind => {
  const known = kinds[fault.code];
  if (known !== undefined) return known;
  if (fault.kind === 'transient') {
    return {
      status: 503,
      title: 'A dependency is not available',
      remedy: 'Repeat the same request in a moment.',
    };
  }
  return { status: 500, title: 'Internal error' };
};

/** The problem document for a thrown value. */
export const toProblem = (error: unknown): Problem => {
  const fault = error instanceof Fault ? error : new Fault('internal', 'internal_error', errorText(error));
  const { status, title, remedy } = kindOf(fault);
  return {
    type: `urn:tidemark:problem:${fault.code}`,
    title,
    status,
    detail: fault.message,
    code: fault.code,
    ...(fault instanceof FieldFault && fault.field !== '' ? { field: fault.field } : {}),
    ...(remedy === undefined ? {} : { remedy }),
  };
};

/** A permanent Fault `body_too_large`. */
export const bodyTooLarge = (bytesMax: number): Fault =>
  new Fault('permanent', 'body_too_large', `the limit of a body is ${bytesMax} bytes`);

/** A permanent Fault `not_found`. */
export const notFound = (what: string): Fault =>
  new Fault('permanent', 'not_found', `${what} does not exist`);

/** A refusal that names a field of the input. */
export class FieldFault extends Fault {
  readonly field: string;

  constructor(code: string, field: string, why: string) {
    super('permanent', code, field === '' ? `the input ${why}` : `${field}: ${why}`);
    this.field = field;
  }
}

/** A permanent Fault with one of the codes above about a field of the input, which is a path. */
export const fieldFault = (
  code: 'invalid_value' | 'fixed_at_creation' | 'has_own_operation',
  field: string,
  why: string,
): Fault => new FieldFault(code, field, why);

/** The first issue of a schema, by the path of the field. */
const faultOfInput = (error: z.ZodError): Fault => {
  const [issue] = error.issues;
  const path = [...(issue?.path ?? [])];
  if (issue?.code === 'unrecognized_keys') path.push(...issue.keys.slice(0, 1));
  const isMissing = issue?.code === 'invalid_type' && issue.input === undefined;
  const why =
    issue?.code === 'unrecognized_keys'
      ? 'unknown field'
      : isMissing
        ? 'is required'
        : (issue?.message ?? 'is invalid');
  return fieldFault('invalid_value', path.map(String).join('.'), why);
};

/**
 * Refuses inputs with longer texts or names, so that no regular expression reads more, and the name that schemas leave out without a
 * word. Permanent Fault `invalid_value`.
 */
const requireReadable = (input: unknown): void => {
  const open: { readonly value: unknown; readonly path: string }[] = [{ value: input, path: '' }];
  const tooLong = (path: string): Fault =>
    fieldFault('invalid_value', path, `must have at most ${patternTextMax} characters`);
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const { value, path } = each;
    if (typeof value === 'string' && value.length > patternTextMax) throw tooLong(path);
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, part] of Object.entries(value)) {
      const inner = path === '' ? name : `${path}.${name}`;
      if (name.length > patternTextMax) throw tooLong(inner.slice(0, 64));
      if (name === '__proto__') throw fieldFault('invalid_value', inner, 'unknown field');
      if (typeof part === 'string' || typeof part === 'object') open.push({ value: part, path: inner });
    }
  }
};

/** The value in the type of the schema. Permanent Fault `invalid_value` that names the field. */
export const parseInput = <S extends z.ZodType>(schema: S, value: unknown): z.output<S> => {
  requireReadable(value);
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  throw faultOfInput(result.error);
};
