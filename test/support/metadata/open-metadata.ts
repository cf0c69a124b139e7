import { type Bus, connectBus } from '../../../src/bus/connection.ts';
import type { CreationDeps } from '../../../src/metadata/reports/creation.ts';
import { createQuestdbSql, type QuestdbSql } from '../../../src/stores/questdb/sql.ts';
import { startEngines, type TestEngines } from '../stack/engines.ts';
import { openMetadata } from './calls.ts';

/** What a metadata process works on, with NATS and QuestDB of its own. */
export type OpenMetadata = {
  readonly engines: TestEngines;
  readonly bus: Bus;
  readonly sql: QuestdbSql;
  readonly deps: CreationDeps;
  stop(): Promise<void>;
};

export const startOpenMetadata = async (): Promise<OpenMetadata> => {
  const engines = await startEngines({ nats: true, questdb: true });
  try {
    const bus = await connectBus(engines.nats.url, 'test');
    const sql = createQuestdbSql({ url: engines.questdb.url });
    const deps = await openMetadata(bus, sql);
    const stop = async (): Promise<void> => {
      deps.records.stop();
      await bus.close();
      await sql.close();
      await engines.stop();
    };
    return { engines, bus, sql, deps, stop };
  } catch (error) {
    await engines.stop();
    throw error;
  }
};
