import { expect, it } from 'vitest';
import type { AdminClient } from '../../../src/cli/client.ts';
import { lookAtAdmin } from '../../../src/cli/doctor/connections.ts';
import { Fault } from '../../../src/model/fault.ts';

const why = '1 record cannot be read: table.7';
const gone = [{ check: 'records', why: 'of before' }];
const urgent = {
  ...{ code: 'process_gone', severity: 'page', text: 'transfer a:2 sent its last pulse 30 seconds ago' },
  ...{ remedy: 'Start it again.', runbook: 'docs/runbook.md#tidemarkrolegone' },
};
const ticket = { ...urgent, code: 'versions_differ', severity: 'ticket', text: 'two versions' };
const roomy = { disk: 'data', free_bytes: 500, total_bytes: 1_000 };
const unknown = { disk: 'questdb', free_bytes: null, total_bytes: null };

/** An admin API that gives these answers, one after the other, and the last one again. */
const clientOf = (answers: Readonly<Record<string, readonly unknown[]>>): AdminClient => {
  const given = new Map<string, number>();
  return {
    ask: async (schema, _, path) => {
      const [all, asked] = [answers[path] ?? [{ items: [] }], given.get(path) ?? 0];
      given.set(path, asked + 1);
      const json = all[Math.min(asked, all.length - 1)];
      if (json instanceof Error) throw json;
      return { value: schema.parse(json), json };
    },
    follow: () => Promise.reject(new Error('not followed')),
  };
};

const look = (answers: Readonly<Record<string, readonly unknown[]>>) =>
  lookAtAdmin(
    clientOf({
      '/api/v1/line': [{ troubles: [] }],
      '/api/v1/usage/disk': [{ volumes: [roomy, unknown] }],
      ...answers,
    }),
    0,
  );

const process = { role: 'ingress', host: 'a', pid: 1, failing: [], degraded: [], state: 'ready' };

it('doctor names the records that a process cannot read, however many troubles there are', async () => {
  const text = async (items: readonly unknown[]) => {
    const line = [{ troubles: Array.from({ length: 50 }, () => urgent) }];
    return JSON.stringify((await look({ '/api/v1/processes': [{ items }], '/api/v1/line': line })).at(-1));
  };
  const others = { ...process, degraded: gone, state: 'gone' };
  const unread = await text([{ ...process, degraded: [{ check: 'records', why }] }, others]);
  expect(unread).toContain(`ingress a:1: ${why}`);
  expect(unread).not.toContain('of before');
  expect(await text([process, others])).toContain('can be read');
});

it('doctor takes no process that still starts for one that cannot read records', async () => {
  const failing = [{ check: 'records', why: 'the purges are not read yet' }];
  const items = [{ ...process, state: 'not_ready', failing }];
  expect((await look({ '/api/v1/processes': [{ items }] })).at(-1)).toMatchObject({ ok: true });
});

it('doctor names each urgent trouble of the line with its remedy, and the others beside', async () => {
  const troubles = (...all: unknown[]) => ({ '/api/v1/line': [{ troubles: all }] });
  const found = async (answers: Record<string, unknown[]>) =>
    (await look(answers)).filter(({ name }) => name.startsWith('troubles'));
  expect(await found(troubles(urgent, ticket))).toMatchObject([
    {
      ...{ name: 'troubles: process_gone', ok: false, detail: urgent.text },
      remedy: 'Start it again. (docs/runbook.md#tidemarkrolegone)',
    },
  ]);
  const [beside, ...more] = await found(troubles(ticket));
  expect(more).toEqual([]);
  expect(beside).toMatchObject({ name: 'troubles', ok: true });
  expect(beside?.detail).toContain('two versions');
});

it('doctor leaves out a trouble that has passed with the next pulses', async () => {
  const line = [{ troubles: [urgent] }, { troubles: [] }];
  expect((await look({ '/api/v1/line': line })).filter(({ ok }) => !ok)).toEqual([]);
});

it('doctor names a disk of which less than 5 % is free', async () => {
  const disks = async (free: number) =>
    (await look({ '/api/v1/usage/disk': [{ volumes: [{ ...roomy, free_bytes: free }, unknown] }] })).find(
      ({ name }) => name === 'disk',
    );
  expect(await disks(49)).toMatchObject({ ok: false, detail: 'data: 4.9 % of 1000 B is free' });
  expect(await disks(50)).toMatchObject({ ok: true });
});

it('doctor asks an admin API that refuses it nothing further, and adds no remedy to that of the error', async () => {
  const refusal = new Fault('permanent', 'admin_token_missing', 'no admin token: run it as its user');
  expect(await look({ '/api/v1/custom-reports?limit=1': [refusal] })).toMatchObject([
    { name: 'admin api', ok: false, detail: refusal.message, remedy: '' },
  ]);
});
