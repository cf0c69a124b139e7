import { request } from 'undici';
import { expect } from 'vitest';
import type { DatabaseAccounts } from '../../../src/config/engine-credentials.ts';
import { createClickhouseEngine } from '../../../src/embedded/clickhouse.ts';
import { basicAuthorization, createDatabaseAccounts } from '../../../src/embedded/credentials.ts';
import { type ClickhouseNames, waysOut } from './clickhouse-ways-out.ts';
import { canary, openOutside } from './outside.ts';
import { takePorts } from './ports.ts';
import { openTempFolder } from './temp-folder.ts';

export const host = '127.0.0.1';

export type Account = { readonly user: string; readonly password: string };
export type Answer = { readonly status: number; readonly body: string };

/** An embedded ClickHouse with a table `trial.t` of one row, and files and a server that it must not reach. */
export type ConfinedClickhouse = {
  readonly port: number;
  /** Its data folder. */
  readonly folder: string;
  readonly accounts: DatabaseAccounts;
  readonly reader: Account;
  ask(
    sql: string,
    account?: Account,
    more?: { query?: string; headers?: Record<string, string> },
  ): Promise<Answer>;
  /**
   * Fails if a statement with one of these names read a file that is not the server's, changed one, or reached another server.
   * More than `least.statements` have to be tried, and more than `least.denied` of them refused for their rights, name or file.
   */
  expectNoWayOut(
    names: ClickhouseNames,
    account: Account,
    least: { readonly statements: number; readonly denied: number },
  ): Promise<void>;
  stop(): Promise<void>;
};

export const startConfinedClickhouse = async (): Promise<ConfinedClickhouse> => {
  const accounts = createDatabaseAccounts();
  const [port = 0] = await takePorts(1);
  const folder = await openTempFolder();
  const outside = await openOutside();
  const log = (): void => {};
  const engine = createClickhouseEngine({ folder: folder.path, host, ports: { http: port }, log, accounts });
  const ask: ConfinedClickhouse['ask'] = async (
    sql,
    account = accounts,
    { query = '', headers = {} } = {},
  ) => {
    // For twenty thousand statements fetch takes as much of the processor as the server.
    const response = await request(`http://${host}:${port}/${query}`, {
      method: 'POST',
      body: sql,
      headers: { authorization: basicAuthorization(account), ...headers },
    });
    return { status: response.statusCode, body: (await response.body.text()).trim() };
  };
  /** Runs all of them, some at a time. Returns the answer to each. */
  const askAll = async (statements: readonly string[], account: Account): Promise<Answer[]> => {
    const answers: Answer[] = [];
    const rest = statements.values();
    const worker = async (): Promise<void> => {
      for (const sql of rest) answers.push(await ask(sql, account));
    };
    await Promise.all(Array.from({ length: 4 }, worker));
    return answers;
  };
  await engine.start();
  await ask('CREATE DATABASE trial');
  await ask('CREATE TABLE trial.t (c String, d String) ENGINE = MergeTree ORDER BY c');
  await ask("INSERT INTO trial.t VALUES ('a', 'b')");
  return {
    port,
    folder: folder.path,
    accounts,
    reader: { user: accounts.readonlyUser, password: accounts.readonlyPassword },
    ask,
    expectNoWayOut: async (names, account, least) => {
      const statements = waysOut(names, outside);
      expect(statements.length).toBeGreaterThan(least.statements);
      const before = outside.listing();
      const answers = await askAll(statements, account);
      expect(answers.filter(({ body }) => body.includes(canary))).toEqual([]);
      expect(outside.connections).toBe(0);
      expect(outside.listing()).toBe(before);
      // The server is alive, and refuses for the right reason: none of the statements was only malformed.
      expect((await ask('SELECT 1', account)).body).toBe('1');
      const denied = answers.filter(({ body }) => /Code: (497|452|76|74)\./.test(body));
      expect(denied.length).toBeGreaterThan(least.denied);
    },
    stop: async () => {
      await engine.kill();
      outside.close();
      await folder.remove();
    },
  };
};
