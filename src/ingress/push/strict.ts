import { Refused } from '../refused.ts';

const answers = new Map([
  ['true', true],
  ['false', false],
]);

/**
 * Whether a push asks to be refused whole when one of its points or values would be dropped: `?strict=true`. `url` is the target of
 * the request. Throws a Refused for any other value than true and false, for both of them, and for the name in capitals.
 */
export const asksStrict = (url: string): boolean => {
  const at = url.indexOf('?');
  if (at < 0) return false;
  let isStrict: boolean | undefined;
  for (const [name, value] of new URLSearchParams(url.slice(at + 1))) {
    if (name.toLowerCase() !== 'strict') continue;
    const asked = name === 'strict' ? answers.get(value) : undefined;
    if (asked === undefined || asked !== (isStrict ?? asked))
      throw new Refused(
        'protocol_error',
        'the query parameter strict takes true or false: send ?strict=true, or leave it out',
        { field: 'strict' },
      );
    isStrict = asked;
  }
  return isStrict ?? false;
};
