import { expect, it } from 'vitest';
import type { AdminClient } from '../../../src/cli/client.ts';
import { lookAtAdmin } from '../../../src/cli/doctor/connections.ts';

const why = '1 record cannot be read: table.7';
const gone = [{ check: 'records', why: 'of before' }];

const clientWith = (why: string | undefined): AdminClient => ({
  ask: async (schema, _, path) => {
    const degraded = why === undefined ? [] : [{ check: 'records', why }];
    const process = { role: 'ingress', host: 'a', pid: 1, failing: [], degraded, state: 'ready' };
    const items =
      path === '/api/v1/processes' ? [process, { ...process, degraded: gone, state: 'gone' }] : [];
    // As many troubles of others as a line has.
    const json = {
      items,
      troubles: Array.from({ length: 50 }, () => ({ text: 'transfer a:2: questdb: away' })),
    };
    return { value: schema.parse(json), json };
  },
  follow: () => Promise.reject(new Error('not followed')),
});

it('doctor names the records that a process cannot read, however many troubles there are', async () => {
  const text = async (given: string | undefined) =>
    JSON.stringify((await lookAtAdmin(clientWith(given))).at(-1));
  expect(await text(why)).toContain(`ingress a:1: ${why}`);
  expect(await text(why)).not.toContain('of before');
  expect(await text(undefined)).toContain('can be read');
});
