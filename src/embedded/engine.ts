import type { Durability } from '../config/settings.ts';
import type { LogLine } from './child.ts';
import { createService, type Service, type ServiceDefinition } from './service.ts';

/** A real engine as a child process on one host, with one folder and fixed ports. */
export type Engine = Service<'nats' | 'questdb' | 'clickhouse'>;

/** The parameters of a factory. A `log` receives every line of the engine. */
export type EngineOptions<Ports> = {
  folder: string;
  host: string;
  ports: Ports;
  log: LogLine;
  /** The file that `log` writes, for messages. */
  logFile?: string | undefined;
  /** Default `process`: acknowledged data survive the end of the engine, not of the machine. */
  durability?: Durability;
  /** Open files that it holds too, for as long as it lives. */
  inherited?: readonly number[];
};

const limits = { startTimeoutMs: 120_000, stopGraceMs: 15_000 };

type Surroundings = 'host' | 'log' | 'logFile' | 'inherited';

/** Builds an engine from its differences to other engines. Data that it acknowledged survive its stop and its kill. */
export const createEngine = (
  { host, log, logFile, inherited = [] }: Pick<EngineOptions<unknown>, Surroundings>,
  definition: Omit<ServiceDefinition<Engine['name']>, Surroundings | keyof typeof limits>,
): Engine => createService({ ...definition, host, log, logFile, inherited, ...limits });
