import { ellipsis, headOf, patternTextMax } from '../model/text-forms.ts';

/** Replaces a secret. */
export const redacted = '[redacted]';

/** Removes secrets from received text and limits its length, before it is shown or kept. */
export type Redaction = {
  /** A text of at most this many bytes; `secrets` are the credentials of the request, valid or not. */
  text(text: string, bytesMax: number, secrets?: readonly string[]): string;
  /**
   * The name that a sender gives itself, as `text`. What has the form of a token is masked in it, too: a header that was set in the
   * wrong place may hold a token of another deployment, which nobody here knows.
   */
  name(text: string, bytesMax: number, secrets?: readonly string[]): string;
  /** A value as JSON of at most this many bytes (if truncated, it ends in `…`); each text in it is truncated, too. The cost has a limit, too. */
  json(value: unknown, bytesMax: number, secrets?: readonly string[]): string;
};

const secretNames = 'token|authorization|passw(?:or)?d|secret|credential|cookie|api[-_. ]?key';

/** Names whose values always count as secrets. */
const secretName = new RegExp(secretNames, 'i');

/** The same within a text: `access_token=…`, `"Authorization": "Bearer …"`. Each part has a bound, so that no start of it reads far. */
const secretInText = new RegExp(
  `((?:${secretNames})[\\w.-]{0,64}["'\\\\]{0,32}\\s{0,32}[:=]\\s{0,32}["'\\\\]{0,32})((?:bearer|basic)\\s{1,32})?[^\\s"'\\\\,;&}\\]]+`,
  'gi',
);
const bearerInText = /\b(bearer|basic)\s{1,32}[\w.~+/=-]{4,}/gi;

/** The forms of a credential in a text: looked up, because ids have the same forms. */
const words = /[A-Za-z0-9_.~+/=-]{8,}/g;
const plainWords = /[A-Za-z0-9]{8,}/g;
const hexRuns = /[0-9a-f]{32,}/gi;
const tokenLength = 32;
const tokenForm = /(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])/gi;
/** Length of admin tokens in digits. Only their digests are stored, so every text of this form counts as one. */
const adminTokenLength = 64;

const valueCharactersMax = 256;
const depthMax = 8;

/** Marks a secret during the search: it makes no text longer, and no well-formed text holds it. */
const mark = '\uDC00';

/** A truncated word counts as the beginning of a secret within these lengths. */
const tornMin = 4;
const tornMax = 256;
/** Places that are tried for the beginning of one secret, before the first of them counts as it. */
const tornTriesMax = 64;

const isWordCode = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) ||
  (code >= 0x41 && code <= 0x5a) ||
  (code >= 0x2b && code <= 0x39 && code !== 0x2c) ||
  code === 0x3d ||
  code === 0x5f ||
  code === 0x7e;

/** The start of the word before `end`; `end` where it is too short to identify anything. */
const tornWordStart = (text: string, from: number, end: number): number => {
  let start = end;
  while (start > from && end - start < tornMax && isWordCode(text.charCodeAt(start - 1))) start--;
  return end - start >= tornMin ? start : end;
};

/** The place from which a text is the beginning of a secret that continues after it; its length where it is not. */
const tornSecretStart = (text: string, secret: string): number => {
  const head = secret.slice(0, tornMin);
  let first = text.length;
  let at = text.indexOf(head, Math.max(0, text.length - secret.length + 1));
  for (let tries = 0; at !== -1; tries++) {
    first = Math.min(first, at);
    if (tries === tornTriesMax) return first;
    if (secret.startsWith(text.slice(at))) return at;
    at = text.indexOf(head, at + 1);
  }
  return text.length;
};

/** A text that was cut may end in the beginning of a secret, and so may each part of it before an ellipsis. */
const withoutTorn = (text: string, secrets: readonly string[]): string => {
  const last = text.lastIndexOf(ellipsis);
  if (last === -1) return text;
  let end = last;
  for (const secret of secrets) end = Math.min(end, tornSecretStart(text.slice(0, last), secret));
  let out = '';
  let from = 0;
  for (let at = text.indexOf(ellipsis); at !== -1 && at < end; at = text.indexOf(ellipsis, at + 1)) {
    out += `${text.slice(from, tornWordStart(text, from, at))}${ellipsis}`;
    from = at + 1;
  }
  return `${out}${text.slice(from, tornWordStart(text, from, Math.max(from, end)))}${text.slice(last)}`;
};

/** The text in at most this many bytes; if truncated, it ends in `…`. */
export const cutTo = (text: string, bytesMax: number): string => {
  if (text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax) return text;
  const cut = Buffer.from(text)
    .subarray(0, bytesMax - 3)
    .toString('utf8');
  return `${cut.endsWith('\uFFFD') ? cut.slice(0, -1) : cut}${ellipsis}`;
};

type Budget = { left: number };

/** Whether the value under this name counts as a secret; that of a name that is too long to read does. */
export const isSecretName = (name: string): boolean => name.length > patternTextMax || secretName.test(name);

/** `isCredential`: whether a text is a credential of this deployment, current or not. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a text is read once; its forms stand side by side.
export const createRedaction = (isCredential: (text: string) => boolean): Redaction => {
  // A token is written in lower case; in capitals it is just as readable.
  const known = (word: string): string =>
    isCredential(word) || isCredential(word.toLowerCase()) ? mark : word;

  /** A run of hexadecimal digits that holds a token somewhere is masked whole. */
  const maskRun = (run: string): string => {
    if (run.length >= adminTokenLength) return mark;
    const digits = run.toLowerCase();
    for (let at = 0; at + tokenLength <= digits.length; at++) {
      if (isCredential(digits.slice(at, at + tokenLength))) return mark;
    }
    return run;
  };

  const clean = (text: string, secrets: readonly string[]): string => {
    const own = secrets.filter((secret) => secret.length >= tornMin);
    let out = headOf(text).toWellFormed();
    for (const secret of own) out = out.replaceAll(secret, mark);
    return withoutTorn(out, own)
      .replace(hexRuns, maskRun)
      .replace(words, known)
      .replace(plainWords, known)
      .replace(secretInText, (_, name: string) => `${name}${mark}`)
      .replace(bearerInText, (_, scheme: string) => `${scheme} ${mark}`)
      .replaceAll(mark, redacted);
  };

  const shortText = (text: string, secrets: readonly string[]): string => {
    const cleaned = clean(text, secrets);
    return cleaned.length > valueCharactersMax
      ? `${cleaned.slice(0, valueCharactersMax)}${ellipsis}`
      : cleaned;
  };

  const isSecretValue = (name: string, value: unknown): boolean =>
    (typeof value === 'string' || typeof value === 'object') && value !== null && isSecretName(name);

  const write = (value: unknown, secrets: readonly string[], budget: Budget, depth: number): string => {
    if (budget.left <= 0 || depth > depthMax) return '"…"';
    let out: string;
    if (typeof value === 'string') out = JSON.stringify(shortText(value, secrets));
    else if (Array.isArray(value)) return writeArray(value, secrets, budget, depth);
    else if (typeof value === 'object' && value !== null) return writeObject(value, secrets, budget, depth);
    else out = value === undefined ? 'null' : String(value);
    budget.left -= out.length;
    return out;
  };

  const writeArray = (
    array: readonly unknown[],
    secrets: readonly string[],
    budget: Budget,
    depth: number,
  ): string => {
    let out = '[';
    for (const [index, part] of array.entries()) {
      if (budget.left <= 0) break;
      budget.left--;
      out += `${index === 0 ? '' : ','}${write(part, secrets, budget, depth + 1)}`;
    }
    return `${out}]`;
  };

  const writeObject = (object: object, secrets: readonly string[], budget: Budget, depth: number): string => {
    // An attribute of OTLP is named by its `key`.
    const key: unknown = Reflect.get(object, 'key');
    const isSecretAttribute = typeof key === 'string' && isSecretName(key);
    let out = '{';
    for (const name in object) {
      if (budget.left <= 0) break;
      const value: unknown = Reflect.get(object, name);
      if (value === undefined) continue;
      const shown = JSON.stringify(shortText(name, secrets));
      const isSecret = isSecretValue(name, value) || (isSecretAttribute && name !== 'key');
      budget.left -= shown.length + 2;
      const text = isSecret ? `"${redacted}"` : write(value, secrets, budget, depth + 1);
      out += `${out === '{' ? '' : ','}${shown}:${text}`;
    }
    return `${out}}`;
  };

  return {
    text: (text, bytesMax, secrets = []) => cutTo(clean(text, secrets), bytesMax),
    name: (text, bytesMax, secrets = []) =>
      cutTo(clean(text, secrets).replace(tokenForm, redacted), bytesMax),
    json: (value, bytesMax, secrets = []) => cutTo(write(value, secrets, { left: bytesMax }, 0), bytesMax),
  };
};
