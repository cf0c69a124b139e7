import { Refused } from '../refused.ts';

/**
 * Whether a push asks to be refused whole when one of its points or values would be dropped: `?strict=true`. `url` is the target of
 * the request. Throws a Refused for any other value than true and false.
 */
export const asksStrict = (url: string): boolean => {
  const at = url.indexOf('?');
  if (at < 0) return false;
  const asked = new URLSearchParams(url.slice(at + 1)).get('strict');
  if (asked === null || asked === 'false') return false;
  if (asked === 'true') return true;
  throw new Refused(
    'protocol_error',
    'the query parameter strict takes true or false: send ?strict=true, or leave it out',
    {
      field: 'strict',
    },
  );
};
