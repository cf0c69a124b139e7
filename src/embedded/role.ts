import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { NamedPort } from '../config/port-settings.ts';
import { parseJson } from '../model/json.ts';
import type { LogLine } from './child.ts';
import { createService, type Service } from './service.ts';

/** The process types of Tidemark, each a sub-command of the program. */
export const roleNames = ['ingress', 'transfer', 'metadata'] as const;
export type RoleName = (typeof roleNames)[number];

/** One role as a child process. `url` is its operations port. */
export type Role = Service<RoleName> & {
  /** The reason why it is not ready; undefined before its first report. */
  notReady(): string | undefined;
  /** Passes SIGUSR2 on, once it has answered: before it has a log, the signal would end it. */
  changeLogLevel(): void;
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

/** What a role shares with the others and that must exist before the stack is announced. */
const dependencies: Readonly<Record<RoleName, readonly string[]>> = {
  ingress: ['nats', 'streams'],
  transfer: ['nats', 'streams', 'questdb', 'clickhouse', 'ledger'],
  // Its looks at ClickHouse begin after its start, and only reports need it.
  metadata: ['nats', 'streams', 'questdb'],
};

const readyAnswer = z.object({ degraded: z.record(z.string(), z.string()) });

/** A role that starts is ready without its dependencies, too: for a stack they have to be there. */
const missesNothing = (role: RoleName, text: string): boolean => {
  const answer = readyAnswer.safeParse(parseJson(text));
  return answer.success && dependencies[role].every((name) => answer.data.degraded[name] === undefined);
};

const program = fileURLToPath(new URL('../main.ts', import.meta.url));

/** A role without a time limit for its start: an engine it waits for may take as long as it takes. */
export const createRole = ({ name, host, ports, opsPort, env, log }: RoleOptions): Role => {
  const url = `http://${host}:${opsPort}`;
  let reason: string | undefined;
  let hasAnswered = false;
  const service = createService({
    name,
    url,
    host,
    ports,
    log,
    prepare: () => {
      hasAnswered = false;
      return Promise.resolve({ command: process.execPath, args: [program, name], env });
    },
    answers: async (signal) => {
      const response = await fetch(`${url}/readyz`, { signal });
      hasAnswered = true;
      const text = await response.text();
      const isWell = response.ok && missesNothing(name, text);
      reason = isWell ? undefined : text.trim();
      return isWell;
    },
    startTimeoutMs: Number.POSITIVE_INFINITY,
    stopGraceMs: 60_000,
  });
  return Object.assign(service, {
    notReady: () => reason,
    changeLogLevel: () => {
      if (service.pid === undefined || !hasAnswered) return;
      try {
        process.kill(service.pid, 'SIGUSR2');
      } catch {
        // It ended a moment ago, and its output has not.
      }
    },
  });
};
