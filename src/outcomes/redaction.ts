/** What stands where a secret was. */
export const redacted = '[redacted]';

/** Takes secrets out of what was received and bounds it, for what is shown and kept of it. */
export type Redaction = {
  /** A text of at most so many bytes; `secrets` are the credentials that came with the request, right or wrong. */
  text(text: string, bytesMax: number, secrets?: readonly string[]): string;
  /** A value as JSON of at most so many bytes (then it ends in `…`), each text in it cut as well. The cost is bounded too. */
  json(value: unknown, bytesMax: number, secrets?: readonly string[]): string;
};

const secretNames = 'token|authorization|passw(?:or)?d|passwd|secret|credential|cookie|api[-_. ]?key';

/** Names whose values are taken for secrets, whatever they hold. */
const secretName = new RegExp(secretNames, 'i');

/** The same within a text: `access_token=…`, `"Authorization": "Bearer …"`. */
const secretInText = new RegExp(
  `((?:${secretNames})[\\w.-]*["'\\\\]*\\s*[:=]\\s*["'\\\\]*)((?:bearer|basic)\\s+)?[^\\s"'\\\\,;&}\\]]+`,
  'gi',
);
const bearerInText = /\b(bearer|basic)\s+[\w.~+/=-]{4,}/gi;

/** What a credential may look like in a text: looked up, because ids look the same. */
const words = /[A-Za-z0-9_.~+/=-]{8,}/g;
const plainWords = /[A-Za-z0-9]{8,}/g;
const hexRuns = /[0-9a-f]{32,128}/gi;
const tokenLength = 32;

/** A text is looked through up to here, and what is beyond is left out. */
const textMax = 2048;
const valueCharactersMax = 256;
const depthMax = 8;
const keptOfOwnSecret = 4;

const cutTo = (text: string, bytesMax: number): string => {
  if (text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax) return text;
  const bytes = Buffer.from(text).subarray(0, bytesMax - 3);
  return `${bytes.toString('utf8').replace(/\uFFFD$/, '')}…`;
};

type Budget = { left: number };

/** `isCredential`: whether a text is a credential of this deployment, current or not. */
export const createRedaction = (isCredential: (text: string) => boolean): Redaction => {
  const known = (word: string): string => (isCredential(word) ? redacted : word);

  /** A run of hexadecimal digits that holds a token somewhere is masked whole. */
  const maskRun = (run: string): string => {
    for (let at = 0; at + tokenLength <= run.length; at++) {
      if (isCredential(run.slice(at, at + tokenLength))) return redacted;
    }
    return run;
  };

  const clean = (text: string, secrets: readonly string[]): string => {
    let out = text.slice(0, textMax);
    for (const secret of secrets) {
      if (secret.length >= keptOfOwnSecret) out = out.replaceAll(secret, redacted);
    }
    return out
      .replace(hexRuns, maskRun)
      .replace(words, known)
      .replace(plainWords, known)
      .replace(secretInText, (_, name: string) => `${name}${redacted}`)
      .replace(bearerInText, (_, scheme: string) => `${scheme} ${redacted}`);
  };

  /** A text that came cut before it was cleaned may end in the beginning of a secret. */
  const withoutTorn = (text: string): string =>
    text.endsWith('…') ? text.replace(/[A-Za-z0-9_.~+/=-]{4,}…$/, '…') : text;

  const shortText = (text: string, secrets: readonly string[]): string => {
    const cleaned = clean(text, secrets);
    return cleaned.length > valueCharactersMax ? `${cleaned.slice(0, valueCharactersMax)}…` : cleaned;
  };

  const isSecretValue = (name: string, value: unknown): boolean =>
    (typeof value === 'string' || typeof value === 'object') && value !== null && secretName.test(name);

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
    const isSecretAttribute = typeof key === 'string' && secretName.test(key);
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
    text: (text, bytesMax, secrets = []) => cutTo(clean(withoutTorn(text), secrets), bytesMax),
    json: (value, bytesMax, secrets = []) => cutTo(write(value, secrets, { left: bytesMax }, 0), bytesMax),
  };
};

/** Whether a field's path ends in a name whose value is taken for a secret. */
export const namesSecret = (path: string): boolean => secretName.test(path);
