import { setTimeout as delay } from 'node:timers/promises';
import type { Stack } from '../test/support/stack/stack.ts';
import { cpuSeconds } from './processes.ts';

/** A store that works on in the background after its rows are visible. */
export type Store = 'questdb' | 'clickhouse';

/** What is asked of a stack, or of engines alone. */
type Asked = {
  readonly engines: Pick<Stack['engines'], Store>;
  readonly query: (sql: string) => Promise<{ readonly dataset: readonly unknown[][] }>;
  readonly spansQuery: Stack['spansQuery'];
};

/** A stack whose receivers write an account: its lines reach ClickHouse seconds after the items. */
type AskedLine = Asked & Pick<Stack, 'streamState'>;

const lookEveryMs = 200;
/** So many looks one after the other: there are moments without a merge between two. */
const quietLooks = 3;
const settleMsMax = 20_000;
/** The share of a core that a store at rest may use. */
const quietShare = 0.2;

const unappliedSql = 'SELECT count() FROM wal_tables() WHERE NOT suspended AND sequencerTxn != writerTxn';

/** What a store still has to do: changes to apply (QuestDB), or merges and mutations (ClickHouse). */
const openWork = async (stack: Asked, store: Store): Promise<number> => {
  if (store === 'questdb') return Number((await stack.query(unappliedSql)).dataset[0]?.[0]);
  const [row] = await stack.spansQuery(
    `SELECT (SELECT count() FROM system.merges) + (SELECT count() FROM system.mutations WHERE NOT is_done) AS open`,
  );
  return Number(row?.['open']);
};

/**
 * Waits until these stores have nothing to do: QuestDB has applied its log, ClickHouse merges nothing, and both leave their core,
 * so that files are purged, too. False where that is not so after 20 s.
 */
export const untilSettled = async (
  stack: Asked,
  stores: readonly Store[],
  further: () => Promise<number> = async () => 0,
): Promise<boolean> => {
  const deadline = performance.now() + settleMsMax;
  const used = (): number =>
    stores.reduce((sum, store) => sum + cpuSeconds(stack.engines[store].pid ?? process.pid), 0);
  for (let quiet = 0; quiet < quietLooks; ) {
    if (performance.now() > deadline) return false;
    const usedBefore = used();
    const before = performance.now();
    await delay(lookEveryMs);
    const share = ((used() - usedBefore) * 1000) / (performance.now() - before);
    const open = await Promise.all([...stores.map((store) => openWork(stack, store)), further()]);
    quiet = share <= quietShare * stores.length && open.every((work) => work === 0) ? quiet + 1 : 0;
  }
  return true;
};

/** The same for Tidemark's own line: at the end the lines of its account are in ClickHouse, too, seconds after the items. */
export const untilLineSettled =
  (stack: AskedLine, stores: readonly Store[]) =>
  (when: 'before' | 'end'): Promise<boolean> =>
    when === 'before'
      ? untilSettled(stack, stores)
      : untilSettled(stack, stores, async () => (await stack.streamState('LEDGER')).messages);
