import { expect, it } from 'vitest';
import { cellText } from '../../../src/cli/output.ts';
import { filterArgument } from '../../../src/cli/query.ts';

it.each([
  [1_795_815_141_974, '1795815141974'],
  [9_007_199_254_740_991, '9007199254740991'],
  [0.123_456_789_012_345, '0.123456789012345'],
  [0, '0'],
  ['', ''],
  [null, '–'],
  [undefined, '–'],
])('the value %j of a point is printed as %s, in full', (value, text) => {
  expect(cellText(value)).toBe(text);
});

it.each([
  ['host=a', '=', ['a']],
  ['host!=a', '!=', ['a']],
  ['host=a,b', 'in', ['a', 'b']],
  ['host!=a,b', 'not in', ['a', 'b']],
  ['host=a\\,b', '=', ['a,b']],
  ['host!=a\\,b,c', 'not in', ['a,b', 'c']],
  ['host=a,', 'in', ['a', '']],
  ['host=\\,', '=', [',']],
  ['host=C:\\a', '=', ['C:\\a']],
  ['host=\\\\a\\b\\', '=', ['\\\\a\\b\\']],
  ['host=a\\\\,b', 'in', ['a\\', 'b']],
  ['host=a\\\\\\,b', '=', ['a\\,b']],
])('the condition %s is one on all of its values', (text, operator, values) => {
  expect(filterArgument(text)).toEqual([{ dimension: 'host', operator, values }]);
});
