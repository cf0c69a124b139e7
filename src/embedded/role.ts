import { fileURLToPath } from 'node:url';
import type { LogLine } from './child.ts';
import type { NamedPort } from './ports.ts';
import { createService, type Service } from './service.ts';

/** The process types of Tidemark, each a sub-command of the program. */
export const roleNames = ['ingress', 'transfer', 'metadata'] as const;
export type RoleName = (typeof roleNames)[number];

/** One role as a child process. `url` is its operations port. */
export type Role = Service<RoleName> & {
  /** The reason why it is not ready; undefined before its first report. */
  notReady(): string | undefined;
};

/** `ports` are all it listens on; `opsPort` answers /readyz. `env` is its whole environment. */
export type RoleOptions = {
  name: RoleName;
  host: string;
  ports: readonly NamedPort[];
  opsPort: number;
  env: NodeJS.ProcessEnv;
  log: LogLine;
};

const program = fileURLToPath(new URL('../main.ts', import.meta.url));

/** A role without a time limit for its start: an engine it waits for may take as long as it takes. */
export const createRole = ({ name, host, ports, opsPort, env, log }: RoleOptions): Role => {
  const url = `http://${host}:${opsPort}`;
  let reason: string | undefined;
  const service = createService({
    name,
    url,
    host,
    ports,
    log,
    prepare: () => Promise.resolve({ command: process.execPath, args: [program, name], env }),
    answers: async (signal) => {
      const response = await fetch(`${url}/readyz`, { signal });
      const text = await response.text();
      reason = response.ok ? undefined : text.trim();
      return response.ok;
    },
    startTimeoutMs: Number.POSITIVE_INFINITY,
    stopGraceMs: 60_000,
  });
  return Object.assign(service, { notReady: () => reason });
};
