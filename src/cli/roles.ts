import { setFlagsFromString } from 'node:v8';
import { type Command, InvalidArgumentError } from 'commander';
import { loadSettings } from '../config/settings.ts';

/** A timer of a client library can outlive its connection; a stopped role has nothing left to wait for. */
const endProcess = (): never => process.exit();

/**
 * An open connection or server of a failed role would keep its process alive: the process ends once the reason is
 * logged.
 */
const endOnceTold = (error: unknown): never => {
  setImmediate(endProcess);
  throw error;
};

const processesMax = 64;

const parseProcesses = (text: string): number => {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= processesMax) return count;
  throw new InvalidArgumentError(`It must be an integer from 1 to ${processesMax}.`);
};

/**
 * Bodies and messages are buffers outside the heap. By default V8 marks the whole heap after every 64 MiB of such
 * buffers, several times a second under load; with this flag they count against the limit of the heap, which grows with
 * its contents.
 */
const countBuffersInHeapLimit = (): void => setFlagsFromString('--external-memory-accounted-in-global-limit');

/**
 * Transfer holds many MiB of messages, which the engine takes for a reason to let garbage wait. Its own objects are few: to mark them
 * more often costs little, and holds 50 MiB less.
 */
const collectOften = (): void => setFlagsFromString('--heap-growing-percent=30');

/**
 * The three roles, one process each. They run until SIGTERM or SIGINT and then finish their work in progress. Each
 * loads only its own modules, to save memory.
 */
export const register = (program: Command): void => {
  program.hook('preAction', countBuffersInHeapLimit);
  program
    .command('ingress')
    .description(
      'run the receivers: push on 10205, OTLP traces, logs and metrics on 4318 and over gRPC on 4317',
    )
    .option(
      '--processes <count>',
      'number of processes that share the ports (default TIDEMARK_INGRESS_PROCESSES)',
      parseProcesses,
    )
    .action(async (options: { processes?: number }) => {
      const settings = loadSettings();
      const processes = options.processes ?? settings.ingress.processes;
      if (processes > 1) {
        const { runIngressProcesses } = await import('./ingress-processes.ts');
        process.exitCode = await runIngressProcesses(settings, processes);
        endProcess();
      }
      const { runIngress } = await import('../ingress/ingress.ts');
      await runIngress(settings).catch(endOnceTold);
      endProcess();
    });
  program
    .command('transfer')
    .description('run the workers: validate time, write to the databases, settle')
    .action(async () => {
      collectOften();
      const { runTransfer } = await import('../transfer/transfer.ts');
      await runTransfer(loadSettings()).catch(endOnceTold);
      endProcess();
    });
  program
    .command('metadata')
    .description('run the admin API with the records and the tables')
    .action(async () => {
      const { runMetadata } = await import('../metadata/metadata.ts');
      await runMetadata(loadSettings()).catch(endOnceTold);
      endProcess();
    });
};
