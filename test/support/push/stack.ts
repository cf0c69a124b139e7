import { withDeadline } from '../stack/receiver-deadline.ts';
import { type Report, type Stack, startStack } from '../stack/stack.ts';
import { waitFor } from '../wait.ts';
import { createPushClient, looseJson, type PushAnswer, type PushClient, type PushRequest } from './client.ts';
import { ageMsMax } from './point-cases.ts';

/** A stored row without what is empty: time in ms, uid as decimal text, and the columns by their names. */
export type StoredRow = Readonly<Record<string, unknown>>;

/** A stack that takes points of a week, with a producer and readers of what is stored. */
export type PushStack = {
  readonly stack: Stack;
  readonly port: number;
  readonly client: PushClient;
  /** Everything that any request was answered with. */
  readonly answers: readonly PushAnswer[];
  send(request: PushRequest): Promise<PushAnswer>;
  /** Pushes these points to a report, with these headers. */
  push(report: Report, data: unknown, headers?: Record<string, string>): Promise<PushAnswer>;
  /** A report of its own for a test. */
  report(extra?: Record<string, unknown>): Promise<Report>;
  /**
   * What a report's table holds once everything sent to it before is stored: a point of our own is pushed last and waited for.
   */
  storedRows(report: Report): Promise<StoredRow[]>;
  stop(): Promise<void>;
};

/** The body of a push, bare NaN and all, correct but for what is changed. */
export const bodyOf = (report: Report, data: unknown, change: Record<string, unknown> = {}): string => {
  const { mon_data_id: dataId, token } = report.data_source;
  return looseJson({ data_id: dataId, access_token: token, data, ...change });
};

const sentinel = 'sentinel_of_the_test';

/** `deadlineMs`: how long a request waits for the bus; default long. */
export const startPushStack = async ({ deadlineMs }: { deadlineMs?: number } = {}): Promise<PushStack> => {
  const stack = await startStack({
    ackWaitSeconds: 30,
    pipelines: (file, text) =>
      file === 'metrics.yaml'
        ? withDeadline(text, deadlineMs).replace(
            'age_seconds_max: off',
            `age_seconds_max: ${ageMsMax / 1000}`,
          )
        : text,
    env: { TIDEMARK_LOG_LEVEL: 'trace' },
  });
  const port = stack.ingress[0]?.ports['push'] ?? 0;
  const client = createPushClient(port);
  const answers: PushAnswer[] = [];
  const send: PushStack['send'] = async (request) => {
    const answer = await client.send(request);
    answers.push(answer);
    return answer;
  };
  const push: PushStack['push'] = (report, data, headers = {}) =>
    send({ body: bodyOf(report, data), headers });
  let reports = 0;

  const readRows = async (table: string): Promise<Map<string, unknown>[]> => {
    const { columns, dataset } = await stack.query(`SELECT *, uid::string uid_text FROM "${table}"`);
    return dataset.map((row) => new Map(columns.map(({ name }, index) => [name, row[index]])));
  };

  const isSentinel = (row: Map<string, unknown>): boolean => row.get('target') === sentinel;

  const storedRows: PushStack['storedRows'] = async (report) => {
    const table = report.result_table.table_id;
    const before = (await readRows(table)).filter(isSentinel).length;
    const answer = await push(report, [{ metrics: { [sentinel]: 1 }, target: sentinel }]);
    if (answer.status !== 200) throw new Error(`the last point was answered ${answer.text}`);
    const rows = await waitFor('the last point in the table', 60_000, async () => {
      const all = await readRows(table);
      return all.filter(isSentinel).length > before && all;
    });
    return rows
      .filter((row) => !isSentinel(row))
      .map((row) => {
        row.set('uid', row.get('uid_text')).delete('uid_text');
        row.set('timestamp', Date.parse(String(row.get('timestamp'))));
        return Object.fromEntries([...row].filter(([, value]) => value !== null));
      });
  };

  return {
    stack,
    port,
    client,
    answers,
    send,
    push,
    report: (extra = {}) => stack.createReport(`push ${++reports}`, extra),
    storedRows,
    stop: async () => {
      client.close();
      await stack.stop();
    },
  };
};

let shared: Promise<PushStack> | undefined;

/** The one stack of all rooms of a test file; the first call starts it. The file stops it after its last test. */
export const sharedPushStack = (): Promise<PushStack> => {
  shared ??= startPushStack();
  return shared;
};
