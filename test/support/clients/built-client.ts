import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { describe } from 'vitest';
import { z } from 'zod';
import type { TraceStack } from '../otlp/trace-stack.ts';
import { preparation } from './builds.ts';
import { startJavascript } from './javascript.ts';
import { startClient, type Target } from './process.ts';
import type { ClientSignal } from './signal.ts';
import { type ClientKind, describeClient } from './suite.ts';

/** A client whose program has to be built or installed first. */
export type BuiltKind = Omit<ClientKind, 'start'> & {
  /** Answers the path of its program, or of the folder of its packages. */
  prepare(): Promise<string>;
  /** Why it cannot be prepared on this machine. */
  readonly missing: string | undefined;
  start(path: string): ClientKind['start'];
};

/**
 * Describes the client once it is built; without its tools its guarantees are counted as skipped, and the name has the reason.
 */
export const describeBuilt = async (
  stack: () => TraceStack,
  { prepare, missing, start, ...kind }: BuiltKind,
): Promise<void> => {
  const prepared = await preparation(prepare, missing);
  if ('path' in prepared) {
    describeClient(stack, { ...kind, start: start(prepared.path) });
    return;
  }
  describe.skip(`left out, ${prepared.why}`, () => {
    const startNone = (): never => {
      throw new Error(prepared.why);
    };
    describeClient(stack, { ...kind, start: startNone });
  });
};

/** The Java client of this signal over this transport, with the packages in this folder and these variables. */
export const startJava =
  (
    folder: string,
    signal: ClientSignal,
    transport: 'http' | 'grpc',
    env: Readonly<Record<string, string>> = {},
  ): ClientKind['start'] =>
  (target) => {
    const classPath = [join(folder, '*'), join(folder, 'classes')].join(delimiter);
    const args = ['-Xmx512m', '-Dfile.encoding=UTF-8', '-cp', classPath, 'Client', signal.name, transport];
    return startClient('java', args, target, env);
  };

/** The Python programs that export a signal; their argument is the exporter. */
export const pythonPrograms: Readonly<Record<ClientSignal['name'], string>> = {
  traces: join(import.meta.dirname, '../python/export_spans.py'),
  logs: join(import.meta.dirname, '../python/export_logs.py'),
  metrics: join(import.meta.dirname, '../python/export_data_points.py'),
};

const exporterModule = z.object({
  createExporter: z.custom<(target: Target) => SpanExporter>((value) => typeof value === 'function'),
});

/** The SDK of this process with the exporter over gRPC that is installed in this folder. */
export const startJavascriptGrpc = (folder: string): ClientKind['start'] => {
  const loaded: unknown = createRequire(import.meta.url)(join(folder, 'client.js'));
  const { createExporter } = exporterModule.parse(loaded);
  return (target) => startJavascript(createExporter, target);
};
