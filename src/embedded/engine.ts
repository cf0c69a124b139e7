import type { Durability } from '../config/settings.ts';
import type { LogLine } from './child.ts';
import { createService, type Service, type ServiceDefinition } from './service.ts';

/** A real engine as a child process on one host, with one folder and fixed ports. */
export type Engine = Service<'nats' | 'questdb' | 'clickhouse'>;

/** What a factory is given. A `log` of one's own sees every line of the engine. */
export type EngineOptions<Ports> = {
  folder: string;
  host: string;
  ports: Ports;
  log: LogLine;
  /** Default `process`: what was acknowledged survives the end of the engine, not of the machine. */
  durability?: Durability;
  /** Open files that it holds too, for as long as it lives. */
  inherited?: readonly number[];
};

const limits = { startTimeoutMs: 120_000, stopGraceMs: 15_000 };

/** Builds an engine out of what differs between them. What it acknowledged survives its stop and its kill. */
export const createEngine = (
  definition: Omit<ServiceDefinition<Engine['name']>, 'startTimeoutMs' | 'stopGraceMs'>,
): Engine => createService({ ...definition, ...limits });
