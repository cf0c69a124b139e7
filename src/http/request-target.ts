import { patternTextMax } from '../model/text-forms.ts';

/** Unreserved characters (RFC 3986, section 2.3): written as percent codes they are the same name to one reader and another to the next. */
const unreserved = /^[A-Za-z0-9._~-]$/;
const percentCode = /^[0-9A-Fa-f]{2}$/;

/** Characters that readers of a URL convert, drop, or treat as the end of the path. */
const ambiguous = ['\\', '#', '\t', '\n', '\r'];

const hasNormalCodes = (path: string): boolean => {
  for (let at = path.indexOf('%'); at !== -1; at = path.indexOf('%', at + 1)) {
    const code = path.slice(at + 1, at + 3);
    if (!percentCode.test(code)) return false;
    if (unreserved.test(String.fromCharCode(Number.parseInt(code, 16)))) return false;
  }
  return true;
};

/**
 * The path of a request target, up to its query: of the origin form unchanged, of the absolute form after the
 * authority.
 */
export const pathOf = (target: string): string | undefined => {
  const scheme = ['http://', 'https://'].find((each) => target.toLowerCase().startsWith(each));
  const start = scheme === undefined ? 0 : target.indexOf('/', scheme.length);
  if (start === -1 || target[start] !== '/') return undefined;
  const query = target.indexOf('?', start);
  return target.slice(start, query === -1 ? undefined : query);
};

/**
 * Whether the path of a request target has only one reading: no segments `.` and `..`, no empty ones within it, no
 * percent code for a character that needs none, no backslash. A proxy in front authorizes by the path that it reads,
 * and this server must not read another. `*` is the target of OPTIONS.
 */
export const isNormalTarget = (target: string): boolean => {
  if (target === '*') return true;
  const path = pathOf(target);
  if (path === undefined || path.length > patternTextMax) return false;
  if (path.includes('//') || ambiguous.some((character) => path.includes(character))) return false;
  return !path.split('/').some((segment) => segment === '.' || segment === '..') && hasNormalCodes(path);
};

/**
 * A target that no route has. A path without a normal form is looked up as this one, so that each port answers it like
 * any unknown path.
 */
export const unknownTarget = '/not-in-normal-form';
