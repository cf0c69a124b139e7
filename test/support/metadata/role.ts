import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRole, type Role } from '../../../src/embedded/role.ts';
import { parseJson } from '../../../src/model/json.ts';
import { startEngines, type TestEngines } from '../stack/engines.ts';
import { takePorts } from '../stack/ports.ts';

/** An answer of the admin API; `body` is its JSON, undefined when it is none. */
export type Answer = { readonly status: number; readonly headers: Headers; readonly body: unknown };

/** A metadata process as deployed, with a client that has its token. */
export type MetadataRole = {
  readonly role: Role;
  readonly url: string;
  readonly dataFolder: string;
  /** Environment of commands that talk to it. */
  readonly env: NodeJS.ProcessEnv;
  /** What it wrote, line by line, over all its starts. */
  readonly lines: readonly string[];
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  /** The same without the token, or with another one. */
  askAs(token: string | undefined, method: string, path: string, body?: unknown): Promise<Answer>;
};

const host = '127.0.0.1';

/** Starts `tidemark metadata` on free ports. `folder` names its data folder within the folder of the engines. */
export const startMetadataRole = async (
  engines: TestEngines,
  folder = 'metadata',
  more: NodeJS.ProcessEnv = {},
): Promise<MetadataRole> => {
  const [apiPort = 0, opsPort = 0] = await takePorts(2);
  const dataFolder = join(engines.folder, folder);
  const env = {
    PATH: process.env['PATH'],
    TIDEMARK_DATA: dataFolder,
    TIDEMARK_METADATA_API_PORT: String(apiPort),
    TIDEMARK_METADATA_OPS_PORT: String(opsPort),
    TIDEMARK_METADATA_RETENTION_DAYS: 'off',
    ...engines.env,
    TIDEMARK_NATS_URL: engines.asUser(engines.nats.url, 'metadata'),
    ...more,
  };
  const lines: string[] = [];
  const role = createRole({
    name: 'metadata',
    host,
    ports: [{ port: apiPort, variable: 'TIDEMARK_METADATA_API_PORT', purpose: 'admin API' }],
    opsPort,
    env,
    log: (_, line) => lines.push(line),
  });
  await role.start();
  const url = `http://${host}:${apiPort}`;
  const askAs: MetadataRole['askAs'] = async (token, method, path, body) => {
    const response = await fetch(`${url}${path}`, {
      method,
      // A test that computes for long leaves its kept connections to a server that closes them.
      headers: { Connection: 'close', ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: parseJson(await response.text()) };
  };
  return {
    role,
    url,
    dataFolder,
    env,
    lines,
    askAs,
    ask: async (method, path, body) =>
      askAs((await readFile(join(dataFolder, 'admin.token'), 'utf8')).trim(), method, path, body),
  };
};

/** NATS, QuestDB and a metadata process on them. */
export type MetadataStack = {
  readonly engines: TestEngines;
  readonly metadata: MetadataRole;
  stop(): Promise<void>;
};

/** Starts the three; `more` are further variables of metadata. */
export const startMetadataStack = async (more: NodeJS.ProcessEnv = {}): Promise<MetadataStack> => {
  const engines = await startEngines({ nats: true, questdb: true });
  try {
    const metadata = await startMetadataRole(engines, 'metadata', more);
    const stop = async (): Promise<void> => {
      await metadata.role.stop();
      await engines.stop();
    };
    return { engines, metadata, stop };
  } catch (error) {
    await engines.stop();
    throw error;
  }
};
