import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { patternTextMax } from '../../model/text-forms.ts';
import { finderOf, type Span } from './text-finder.ts';

/**
 * Who acted: an admin token, or (token_id null) the program itself or its command line, or the sender of a refused log-in, who has
 * the role `none`.
 */
export const auditActorSchema = z.strictObject({
  token_id: z.int().nullable(),
  name: z.string(),
  role: z.enum(['admin', 'editor', 'viewer', 'node', 'none']),
});

/** One thing that a call changed: its changed fields before and after; null = it did not exist, or was removed. */
export const auditChangeSchema = z.strictObject({
  kind: z.string(),
  id: z.string().nullable(),
  before: z.unknown(),
  after: z.unknown(),
});

/**
 * An entry of the audit log. `at` is in Unix seconds. `interrupted` means that the process died (or stalled) during the
 * call: the change may have happened. Secrets are masked.
 */
export const auditEntrySchema = z.strictObject({
  audit_id: z.string(),
  at: z.int(),
  actor: auditActorSchema,
  /** The operator that the caller named, as free text. */
  operator: z.string().nullable(),
  action: z.string(),
  /** `id` is null where it is unknown: a creation that was refused. */
  target: z.strictObject({ kind: z.string(), id: z.string().nullable() }),
  outcome: z.enum(['done', 'failed', 'interrupted']),
  /** Code of the Fault of a call that failed. */
  code: z.string().optional(),
  changes: z.array(auditChangeSchema),
  /** Changes that were omitted from an entry that would have been too large. */
  changes_cut: z.int().optional(),
  request: z.unknown(),
});

export type AuditActor = z.output<typeof auditActorSchema>;
export type AuditChange = z.output<typeof auditChangeSchema>;
export type AuditEntry = z.output<typeof auditEntrySchema>;

/** Largest entry, as JSON in UTF-8. */
export const entryBytesMax = 256 * 1024;

/** Replaces a secret. */
export const mask = '*'.repeat(32);

const depthMax = 32;
const cut = (what: string): string => `(cut: ${what})`;

/**
 * `token`, `access_token`, `previousToken`, `X-BK-TOKEN`, `secret`…, and not `token_id`; also any text too long for a
 * name.
 */
const isSecretName = (name: string): boolean =>
  name.length > patternTextMax ||
  /(token|secret|password|document)s?$/.test(name.toLowerCase().replaceAll(/[^a-z0-9]/g, ''));

/** Write tokens have 32 digits, admin tokens 64: every text of that form is masked. */
const tokenLengthLeast = 32;

const isHex = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66) || (code >= 0x41 && code <= 0x46);

/** The parts that look like a token. Without an expression, because a text in a request has no limit of its own. */
const tokenLikeSpans = (text: string): Span[] => {
  const spans: Span[] = [];
  let start = 0;
  for (let at = 0; at <= text.length; at++) {
    if (at < text.length && isHex(text.charCodeAt(at))) continue;
    if (at - start >= tokenLengthLeast) spans.push([start, at]);
    start = at + 1;
  }
  return spans;
};

const isTokenLike = (text: string): boolean => {
  const [first] = tokenLikeSpans(text);
  return first !== undefined && first[1] - first[0] === text.length;
};

/** Shorter values are ordinary words: masking them wherever they occur would make entries unreadable. */
const secretLengthLeast = 8;

/** Characters of all secrets that are searched for. Beyond it every text that has room for one is masked. */
const secretCharactersMax = 64 * 1024;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const collectTexts = (value: unknown, into: Set<string>, depth = 0): void => {
  // What looks like a token is masked wherever it is.
  if (typeof value === 'string' && value.length >= secretLengthLeast && !isTokenLike(value)) into.add(value);
  if (typeof value !== 'object' || value === null || depth > depthMax) return;
  for (const part of Object.values(value)) collectTexts(part, into, depth + 1);
};

/** A document is masked under its name. Its token stands under a name of its own as well, and its length would leave no room for others. */
const isDocumentName = (name: string): boolean => {
  const end = name.slice(-'documents'.length).toLowerCase();
  return end === 'documents' || end.endsWith('document');
};

const collectSecrets = (value: unknown, into: Set<string>, depth = 0): void => {
  if (typeof value !== 'object' || value === null || depth > depthMax) return;
  for (const [name, part] of Object.entries(value)) {
    if (!Array.isArray(value) && isDocumentName(name)) continue;
    if (!Array.isArray(value) && isSecretName(name)) collectTexts(part, into);
    else collectSecrets(part, into, depth + 1);
  }
};

/** Finds the parts of a text, or of the name of a field, that are secrets. */
export type Secrets = Readonly<Record<'inText' | 'inName', (text: string) => readonly Span[]>>;

/** Too many to search for: every text with room for one is masked, and a name that is one. */
const everywhere = (secrets: ReadonlySet<string>): Secrets => ({
  inText: (text) => (text.length < secretLengthLeast ? [] : [[0, text.length]]),
  inName: (name) => (secrets.has(name) ? [[0, name.length]] : []),
});

/** Every text under the name of a secret in `values`, at any depth. */
export const secretsIn = (...values: readonly unknown[]): Secrets => {
  const secrets = new Set<string>();
  for (const value of values) collectSecrets(value, secrets);
  let characters = 0;
  for (const secret of secrets) characters += secret.length;
  if (characters > secretCharactersMax) return everywhere(secrets);
  const find = finderOf(secrets);
  return { inText: find, inName: find };
};

/** All parts are of the text as it was given: a mask of one must not break up another. */
const redactText = (text: string, find: Secrets['inText']): string => {
  const spans = [...find(text), ...tokenLikeSpans(text)].sort(([left], [right]) => left - right);
  let out = '';
  let kept = 0;
  for (const [from, to] of spans) {
    if (out === '' || from > kept) out += text.slice(kept, from) + mask;
    kept = Math.max(kept, to);
  }
  return out + text.slice(kept);
};

const redactValue = (value: unknown, secrets: Secrets, depth: number): unknown => {
  if (typeof value === 'string') return redactText(value, secrets.inText);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > depthMax) return cut('too deep');
  if (Array.isArray(value)) return value.map((part) => redactValue(part, secrets, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      redactText(name, secrets.inName),
      isSecretName(name) ? mask : redactValue(part, secrets, depth + 1),
    ]),
  );
};

/**
 * The same JSON value without secrets: fields named as tokens, secrets, passwords or documents are always masked, and
 * in all other text every part that looks like a token or is one of `secrets`.
 */
export const redact = (value: unknown, secrets: Secrets = secretsIn(value)): unknown =>
  redactValue(value, secrets, 0);

/** The fields that differ between two states of one thing. A missing state is null, and the other is whole. */
export const changedFields = (before: unknown, after: unknown): { before: unknown; after: unknown } => {
  if (!isObject(before) || !isObject(after)) return { before: before ?? null, after: after ?? null };
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !isDeepStrictEqual(before[name], after[name]),
  );
  const pick = (from: Record<string, unknown>): Record<string, unknown> =>
    Object.fromEntries(names.filter((name) => Object.hasOwn(from, name)).map((name) => [name, from[name]]));
  return { before: pick(before), after: pick(after) };
};

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/** Truncates above `bytesMax`: the large fields of an object, else the whole. */
const cutTo = (value: unknown, bytesMax: number): unknown => {
  const bytes = bytesOf(value);
  if (bytes <= bytesMax) return value;
  if (!isObject(value)) return cut(`${bytes} bytes`);
  const share = bytesMax / 8;
  const slim = Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      bytesOf(part) > share ? cut(`${bytesOf(part)} bytes`) : part,
    ]),
  );
  return bytesOf(slim) <= bytesMax ? slim : cut(`${bytes} bytes`);
};

const textLengthMax = 1024;
const cutText = (text: string): string =>
  text.length <= textLengthMax ? text : `${text.slice(0, textLengthMax)}${cut(`${text.length} characters`)}`;

/**
 * The entry within `entryBytesMax`: a mark replaces parts that are too large, and changes beyond the limit are omitted.
 */
export const bounded = (entry: AuditEntry): AuditEntry => {
  const texts: AuditEntry = {
    ...entry,
    operator: entry.operator === null ? null : cutText(entry.operator),
    target: { ...entry.target, id: entry.target.id === null ? null : cutText(entry.target.id) },
  };
  if (bytesOf(texts) <= entryBytesMax) return texts;
  const partBytesMax = entryBytesMax / 8;
  const changes: AuditChange[] = [];
  let room = entryBytesMax / 2;
  for (const change of entry.changes) {
    const slim = {
      ...change,
      id: change.id === null ? null : cutText(change.id),
      before: cutTo(change.before, partBytesMax),
      after: cutTo(change.after, partBytesMax),
    };
    room -= bytesOf(slim);
    if (room < 0) break;
    changes.push(slim);
  }
  const left = entry.changes.length - changes.length;
  return {
    ...texts,
    changes,
    ...(left === 0 ? {} : { changes_cut: left }),
    request: cutTo(entry.request, partBytesMax),
  };
};
