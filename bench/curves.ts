import { spanSelect } from '../test/support/otlp/span-rows.ts';
import { fetchEngine } from '../test/support/stack/fetch-engine.ts';
import type { Report, Stack } from '../test/support/stack/stack.ts';
import { waitFor } from '../test/support/wait.ts';
import { columnBodies, hostsOf, pushBodies } from './bodies.ts';
import { lineRow, withStack } from './line.ts';
import { inTurnOfNow, runRequests } from './load.ts';
import { usualPoints } from './point-loads.ts';
import { type MeasureOptions, measureRate, type Subject, untilVisible } from './rate.ts';
import type { Row } from './report.ts';
import { pushSubject, spansSubject } from './subjects.ts';

export type CurveOptions = MeasureOptions & {
  /** Rows of the fullest table of points; a fifth of it is measured, too. */
  readonly pointRows: number;
  /** Rows of the fullest table of spans, likewise. */
  readonly spanRows: number;
};

/** One curve: what grows, and a row for each size. */
export type Curve = { readonly title: string; readonly item: 'points' | 'spans'; readonly rows: Row[] };

const dataIdsCounts = [1, 10, 100, 1_000];
const connections = 8;
const pointsPerBody = 1_000;
const warmSeconds = 3;
/** Requests of each data id before it is measured: the first creates its columns and its symbols, the others have seen them. */
const roundsFirst = 3;
const wideSeconds = 500;
const settleMsMax = 300_000;
const creationsAtOnce = 8;

const measured = async (
  stage: string,
  subject: Subject,
  { seconds }: CurveOptions,
  warm = warmSeconds,
): Promise<Row> => lineRow(stage, [await measureRate(subject, seconds, warm)]);

const createReports = async (stack: Stack, count: number): Promise<Report[]> => {
  const reports: Report[] = [];
  let next = 0;
  const create = async (): Promise<void> => {
    while (next < count) reports.push(await stack.createReport(`curve_${next++}`));
  };
  await Promise.all(Array.from({ length: creationsAtOnce }, create));
  return reports;
};

/** Rows of all tables together, from QuestDB's notes of each commit: counting itself would open the files of every table. */
const countAll = (stack: Stack) => async (): Promise<number> => {
  const { dataset } = await stack.query(
    "SELECT sum(table_row_count) FROM tables() WHERE table_name LIKE '%.__default__'",
  );
  return Number(dataset[0]?.[0]);
};

/** Requests of 1000 points, each of another data id in turn. The hosts are the same, however many data ids share them. */
const dataIdsCurve = async (options: CurveOptions): Promise<Curve> => {
  // The number of tables whose rows QuestDB notes; its default of 1000 would lose some of this bench.
  process.env['QDB_CAIRO_RECENT_WRITE_TRACKER_CAPACITY'] = '5000';
  const rows: Row[] = [];
  for (const count of dataIdsCounts) {
    const row = await withStack(options, async (stack) => {
      const { lateMs } = usualPoints;
      const base = await pushSubject(stack, 'curve', usualPoints);
      const reports = await createReports(stack, count);
      const bodiesEach = Math.max(1, Math.ceil(100 / count));
      const nextBody = () =>
        inTurnOfNow((nowMs) =>
          reports.flatMap(({ data_source: { mon_data_id: dataId, token } }, number) =>
            pushBodies(bodiesEach, pointsPerBody, dataId, token, nowMs, lateMs, hostsOf(number, count)),
          ),
        );
      const visible = countAll(stack);
      const subject: Subject = { ...base, load: () => ({ ...base.load(), nextBody: nextBody() }), visible };
      const first = await runRequests(subject.load(), roundsFirst * bodiesEach * count);
      await untilVisible(visible, first.acknowledged);
      return measured(`${count} data ids`, subject, options);
    });
    rows.push(row);
  }
  return { title: 'Data ids, 1000 points of one of them a request', item: 'points', rows };
};

/** Points of two metrics each in a table of many. */
const columnsCurve = async (options: CurveOptions): Promise<Curve> => {
  const rows: Row[] = [];
  for (const columns of [1, 10, 100, 500]) {
    const row = await withStack(options, async (stack) => {
      const base = await pushSubject(stack, 'curve', usualPoints);
      const { dataId, token } = base.source;
      const load = () => ({
        ...base.load(),
        nextBody: inTurnOfNow((nowMs) => columnBodies(pointsPerBody, columns, dataId, token, nowMs)),
      });
      // A row has a place for each column: with many columns it takes kilobytes.
      const seconds = Math.min(options.seconds, Math.max(1, wideSeconds / columns));
      return measured(
        `${columns} metric columns`,
        { ...base, load },
        { ...options, seconds },
        Math.min(warmSeconds, seconds),
      );
    });
    rows.push(row);
  }
  const title = 'Metric columns of the table, of which each point brings two (of one column, one)';
  return { title, item: 'points', rows };
};

/** Rows in the form of the load, of the hours before: the table is as full as if they had been pushed. */
const fillPoints = async (stack: Stack, table: string, rows: number): Promise<void> => {
  if (rows === 0) return;
  const count = async (): Promise<number> =>
    Number((await stack.query(`SELECT count() FROM "${table}"`)).dataset[0]?.[0]);
  const before = await count();
  const stepMicros = Math.max(1, Math.floor((6 * 3_600 * 1_000_000) / rows));
  await stack.query(
    `INSERT BATCH 500000 INTO "${table}" (timestamp, uid, target, module, location, host, cpu_load, memory_usage)
      SELECT dateadd('h', -8, now()) + x * ${stepMicros}, x,
        '10.' || ((x % 64000) / 65536) || '.' || (((x % 64000) / 256) % 256) || '.' || ((x % 64000) % 256), 'module-' || (x % 8),
        'location-' || (x % 4), 'host-' || (x % 64000), rnd_double() * 100, rnd_double() * 100
      FROM long_sequence(${rows})`,
  );
  await waitFor('the table is full', settleMsMax, async () => (await count()) >= before + rows);
};

const fullPointsCurve = async (options: CurveOptions): Promise<Curve> => {
  const rows: Row[] = [];
  for (const tableRows of [0, options.pointRows / 5, options.pointRows]) {
    const row = await withStack(options, async (stack) => {
      const subject = await pushSubject(stack, 'curve', usualPoints);
      // The columns are made by the first push.
      await measureRate(subject, 1, 0);
      await fillPoints(stack, subject.source.table, tableRows);
      return measured(`${tableRows / 1e6} million rows before`, subject, options);
    });
    rows.push(row);
  }
  return { title: 'Rows that the table of points held before', item: 'points', rows };
};

const spansPerFill = 500_000;
/** The guard that follows a start has ended by then. */
const guardSeconds = 12;

const fillSpans = async (stack: Stack, rows: number): Promise<void> => {
  const stepNs = 1_000_000n;
  const startNs = (BigInt(Date.now()) - 3_600_000n * 6n) * 1_000_000n;
  for (let first = 0; first < rows; first += spansPerFill) {
    const count = Math.min(spansPerFill, rows - first);
    const select = spanSelect({
      first: BigInt(first),
      count,
      startNs: startNs + BigInt(first) * stepNs,
      stepNs,
    });
    const response = await fetchEngine(stack.engines.clickhouse.url, {
      method: 'POST',
      body: `INSERT INTO otel.otel_traces SELECT * FROM (${select})`,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
  }
};

const fullSpansCurve = async (options: CurveOptions): Promise<Curve> => {
  const rows: Row[] = [];
  for (const tableRows of [0, options.spanRows / 5, options.spanRows]) {
    const row = await withStack(
      options,
      async (stack) => {
        await fillSpans(stack, tableRows);
        const subject = await spansSubject(stack, 'curve', 'protobuf', 100, connections);
        await measureRate(subject, guardSeconds, 0);
        return measured(`${tableRows / 1e6} million rows before`, subject, options);
      },
      false,
    );
    rows.push(row);
  }
  return { title: 'Rows that the table of spans held before, protobuf', item: 'spans', rows };
};

const counts = [
  { ingress: 1, transfer: 1 },
  { ingress: 2, transfer: 1 },
  { ingress: 1, transfer: 2 },
  { ingress: 2, transfer: 2 },
] as const;

const stageOf = ({ ingress, transfer }: (typeof counts)[number]): string =>
  `${ingress} ingress, ${transfer} transfer`;

const processesCurve = async (options: CurveOptions): Promise<Curve> => {
  const rows: Row[] = [];
  for (const each of counts) {
    const row = await withStack({ ...options, ...each }, async (stack) =>
      measured(stageOf(each), await pushSubject(stack, 'curve', usualPoints), options),
    );
    rows.push(row);
  }
  return { title: 'Processes, push', item: 'points', rows };
};

const spanProcessesCurve = async (options: CurveOptions): Promise<Curve> => {
  const rows: Row[] = [];
  for (const each of counts) {
    const row = await withStack(
      { ...options, ...each },
      async (stack) => {
        const subject = await spansSubject(stack, 'curve', 'protobuf', 100, connections);
        await measureRate(subject, guardSeconds, 0);
        return measured(stageOf(each), subject, options);
      },
      false,
    );
    rows.push(row);
  }
  return { title: 'Processes, spans in protobuf', item: 'spans', rows };
};

/** Curves by name. */
export const curves: Readonly<Record<string, (options: CurveOptions) => Promise<Curve>>> = {
  ids: dataIdsCurve,
  columns: columnsCurve,
  rows: fullPointsCurve,
  span_rows: fullSpansCurve,
  processes: processesCurve,
  span_processes: spanProcessesCurve,
};
