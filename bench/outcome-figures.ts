import { parseArgs } from 'node:util';
import { z } from 'zod';
import { readBalances } from '../src/outcomes/balance.ts';
import { createClickhouse } from '../src/stores/clickhouse/client.ts';
import { makeTables, startEngines } from '../test/support/stack/engines.ts';
import { cpuSeconds } from './processes.ts';

// The cost for ClickHouse when metadata reads the outcomes, on a table of this many rows spread evenly over this many days: node
// bench/outcome-figures.ts --rows 5000000 --days 90
const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '5000000' },
    days: { type: 'string', default: '90' },
    looks: { type: 'string', default: '5' },
  },
});
const rows = Number(values.rows);
const days = Number(values.days);
const looks = Number(values.looks);
const step = 1_000_000;

/** Requests of points take their numbers in turn, those of spans by a hash: so are their keys spread over time. */
const insert = (first: number, count: number): string => `
  INSERT INTO otel.ingest_outcomes
  WITH ${rows} AS total, now() AS until, toUInt32(number * ${days * 86_400} / total) AS passed,
       (until - ${days * 86_400}) + passed AS moment
  SELECT if(number % 2 = 0, 'metrics', 'traces'),
         if(number % 2 = 0, 1500001 + intHash32(number) % 200, 0),
         if(number % 2 = 0, 0, 1 + intHash32(number) % 50),
         if(number % 2 = 0, toUInt64(passed / 86400 + 1000000) * 274877906944 + number,
            bitOr(bitShiftRight(cityHash64(number), 2), 4611686018427387904)),
         0, -1, 0, toStartOfMinute(moment), 1000,
         if(number % 10 = 0, map('stored', 990, 'dropped:timestamp_too_old', 10), map('stored', 1000)), moment
    FROM numbers(${first}, ${count})`;

const engines = await startEngines({ clickhouse: true });
const pid = engines.clickhouse.pid ?? 0;
try {
  await makeTables(engines.clickhouse.url, false);
  const clickhouse = createClickhouse({ url: engines.clickhouse.url });
  const run = (statement: string): Promise<void> =>
    clickhouse.run(statement, {
      timeoutMs: 1_800_000,
      settings: { max_partitions_per_insert_block: 1000 },
    });
  /** The cost of each of this many reads of the last hour. */
  const measure = async (state: string): Promise<void> => {
    for (let look = 0; look < looks; look++) {
      const untilMs = Date.now() - 300_000;
      const cpuBefore = cpuSeconds(pid);
      const startedAt = performance.now();
      const balances = await readBalances(clickhouse, { sinceMs: untilMs - 3_600_000, untilMs });
      const wallMs = Math.round(performance.now() - startedAt);
      const cpuMs = Math.round((cpuSeconds(pid) - cpuBefore) * 1000);
      const items = balances.reduce((sum, { received }) => sum + received, 0);
      process.stdout.write(
        `${JSON.stringify({ rows, days, state, wallMs, cpuMs, owners: balances.length, items })}\n`,
      );
    }
  };
  // All days but the last are fully merged; the last one is as inserted.
  const merged = Math.floor(rows * (1 - 1 / days));
  for (let first = 0; first < merged; first += step) await run(insert(first, Math.min(step, merged - first)));
  await run('OPTIMIZE TABLE otel.ingest_outcomes FINAL');
  const piece = Math.ceil((rows - merged) / 300);
  for (let first = merged; first < rows; first += piece)
    await run(insert(first, Math.min(piece, rows - first)));
  await measure('as it comes');
  await run('OPTIMIZE TABLE otel.ingest_outcomes FINAL');
  await measure('just merged');
  const parts = z.object({ parts: z.coerce.number(), bytes: z.coerce.number() });
  const query =
    "SELECT count() AS parts, sum(bytes_on_disk) AS bytes FROM system.parts WHERE active AND table = 'ingest_outcomes'";
  process.stdout.write(`${JSON.stringify((await clickhouse.rows(parts, query))[0])}\n`);
  await clickhouse.close();
} finally {
  await engines.stop();
}
