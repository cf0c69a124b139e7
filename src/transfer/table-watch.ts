import { setTimeout as delay } from 'node:timers/promises';
import type { Durability } from '../config/settings.ts';
import type { QuestdbSql } from '../stores/questdb/sql.ts';
import { commitsAreSynced, readTableStates, type TableState } from '../stores/questdb/table-states.ts';
import type { TransferMetrics } from '../telemetry/metrics.ts';

/** Looks at the tables of points: what a confirmed write does not tell. The metadata role is the one that mends them. */
export type TableWatch = {
  /** Tables in trouble, by name, for `/readyz`; undefined when there are none. */
  readonly problem: string | undefined;
  /** Set when commits do not survive a power cut although they shall. */
  readonly durabilityProblem: string | undefined;
  /** The upsert keys of this table are off: what is written to it now may be there twice. */
  isUnsafe(table: string): boolean;
  stop(): Promise<void>;
};

export type TableWatchOptions = {
  readonly sql: QuestdbSql;
  readonly durability: Durability;
  readonly metrics: Pick<TransferMetrics, 'questdbTables' | 'questdbPendingCommits'>;
};

const everyMs = 5_000;
const shownMax = 5;

const isOurs = ({ name }: TableState): boolean => name.endsWith('.__default__');

const listed = (title: string, states: readonly TableState[]): string[] => {
  if (states.length === 0) return [];
  const shown = states.slice(0, shownMax).map(({ name, why }) => (why === '' ? name : `${name} (${why})`));
  const more = states.length > shownMax ? ` and ${states.length - shownMax} more` : '';
  return [`${title}: ${shown.join(', ')}${more}`];
};

/** Looks every five seconds until it is stopped. While QuestDB is away the last look holds; the writer tells of that. */
export const startTableWatch = ({ sql, durability, metrics }: TableWatchOptions): TableWatch => {
  const stopping = new AbortController();
  let problem: string | undefined;
  let durabilityProblem: string | undefined;
  let unsafe: ReadonlySet<string> = new Set();

  const look = async (): Promise<void> => {
    const states = (await readTableStates(sql)).filter(isOurs);
    const suspended = states.filter(({ isSuspended }) => isSuspended);
    const keyless = states.filter(({ deduplicates }) => !deduplicates);
    unsafe = new Set(keyless.map(({ name }) => name));
    const problems = [
      ...listed('suspended, rows are kept and not to be seen yet', suspended),
      ...listed('upsert keys are off, nothing is written to', keyless),
    ];
    problem = problems.length === 0 ? undefined : problems.join('; ');
    const troubled = states.filter(({ isSuspended, deduplicates }) => isSuspended || !deduplicates).length;
    metrics.questdbTables.set({ state: 'ok' }, states.length - troubled);
    metrics.questdbTables.set({ state: 'suspended' }, suspended.length);
    metrics.questdbTables.set({ state: 'no_upsert_keys' }, keyless.length);
    metrics.questdbPendingCommits.set(
      states.reduce((most, { pendingCommits }) => Math.max(most, pendingCommits), 0),
    );
    if (durability === 'power') {
      durabilityProblem = (await commitsAreSynced(sql))
        ? undefined
        : 'TIDEMARK_DURABILITY is power, but QuestDB commits without sync: set cairo.commit.mode=sync';
    }
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // What keeps QuestDB from answering keeps it from taking rows: the writer names it.
      await look().catch(() => undefined);
      await delay(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const running = run();
  return {
    get problem() {
      return problem;
    },
    get durabilityProblem() {
      return durabilityProblem;
    },
    isUnsafe: (table) => unsafe.has(table),
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
};
