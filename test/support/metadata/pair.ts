import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import type { TestEngines } from '../stack/engines.ts';
import { type MetadataRole, startMetadataRole } from './role.ts';

/** Whose admin token a call carries. */
export type Actor = { readonly name: string; readonly token: string };

/** A call of the admin API. */
export type Call = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  readonly ifMatch?: string | undefined;
};

/** An answer; `fields` is its body. */
export type Reply = {
  readonly status: number;
  readonly etag: string | null;
  readonly fields: Readonly<Record<string, unknown>>;
};

/** A write as the audit must have it. `operator` is undefined for a PATCH, which names none. */
export type Written = {
  readonly operator: string | undefined;
  readonly actor: string;
  readonly path: string;
};

/** Two metadata processes on one NATS and one QuestDB, and a client that remembers what it was answered. */
export type MetadataPair = {
  readonly processes: readonly [MetadataRole, MetadataRole];
  readonly actors: readonly Actor[];
  /** Every write that was answered with 200. */
  readonly written: Written[];
  /** How many operators were named so far: the next one is `operator <one more>`. */
  operators(): number;
  /** Operators of the calls that a kill may have interrupted. */
  readonly cutOff: Set<string>;
  /** Every token that an answer showed, and the admin tokens. */
  readonly tokens: Set<string>;
  /** The answer of one process, for the actor of that number. A write names an operator of its own, which is answered too. */
  call(process: number, actor: number, call: Call): Promise<Reply & { operator: string | undefined }>;
  stop(): Promise<void>;
};

const fieldsOf = z.record(z.string(), z.unknown());

/** What may show a token: creation, rotation, revealing and export. */
const showsTokens = /\/operations\/|\/(rotate|reveal)-token$|\/export$|\/applications$|\/admin-tokens$/;

const tokenPattern = /\b[0-9a-f]{32}(?:[0-9a-f]{32})?\b/g;

/** Starts both, and issues a token to each actor. */
export const startMetadataPair = async (
  engines: TestEngines,
  env: NodeJS.ProcessEnv,
): Promise<MetadataPair> => {
  const processes = [
    await startMetadataRole(engines, 'first', env),
    await startMetadataRole(engines, 'second', env),
  ] as const;
  const root = (await readFile(join(processes[0].dataFolder, 'admin.token'), 'utf8')).trim();
  const tokens = new Set<string>([root]);
  const written: Written[] = [];
  const actors: Actor[] = [];
  for (const name of ['anna', 'bo']) {
    const answer = await processes[0].askAs(root, 'POST', '/api/v1/admin-tokens', { name, role: 'admin' });
    const { token } = z.object({ token: z.string() }).parse(answer.body);
    tokens.add(token);
    actors.push({ name, token });
  }
  let operators = 0;
  const call: MetadataPair['call'] = async (process, actor, { method, path, body, ifMatch }) => {
    const { name = '', token = '' } = actors[actor % actors.length] ?? {};
    const operator = method === 'POST' || method === 'DELETE' ? `operator ${++operators}` : undefined;
    const response = await fetch(`${processes[process % 2 === 0 ? 0 : 1].url}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(ifMatch === undefined ? {} : { 'If-Match': ifMatch }),
      },
      ...(method === 'GET'
        ? {}
        : { body: JSON.stringify({ ...body, ...(operator === undefined ? {} : { operator }) }) }),
    });
    const text = await response.text();
    if (showsTokens.test(path)) for (const [found] of text.matchAll(tokenPattern)) tokens.add(found);
    else
      expect(
        [...tokens].filter((each) => text.includes(each)),
        `${method} ${path} shows a token`,
      ).toEqual([]);
    if (response.status === 200 && method !== 'GET') written.push({ operator, actor: name, path });
    return {
      status: response.status,
      etag: response.headers.get('etag'),
      fields: fieldsOf.parse(JSON.parse(text)),
      operator,
    };
  };
  return {
    processes,
    actors,
    written,
    operators: () => operators,
    cutOff: new Set(),
    tokens,
    call,
    stop: async () => {
      await Promise.all(processes.map(({ role }) => role.stop()));
    },
  };
};
