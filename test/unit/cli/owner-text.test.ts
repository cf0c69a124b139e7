import { expect, it } from 'vitest';
import { ownerText } from '../../../src/cli/owner-text.ts';

it.each([
  [{ data_id: 1_500_001, app_id: 0 }, 'data id 1500001'],
  [{ data_id: 1_500_001, app_id: null }, 'data id 1500001'],
  [{ data_id: 0, app_id: 4 }, 'application 4'],
  [{ data_id: null, app_id: 4 }, 'application 4'],
  [{ data_id: 0, app_id: 0 }, 'other tables'],
  [{ data_id: null, app_id: null }, 'other tables'],
])('an owner in %j is "%s", whether none is null or 0', (ids, text) => {
  expect(ownerText(ids, 'other tables')).toBe(text);
});
