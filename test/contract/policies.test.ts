import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApplicationPolicy, SourcePolicy } from '../../src/directory/policies.ts';
import {
  contentTypes,
  createOtlpClient,
  type OtlpAnswer,
  type OtlpClient,
  partialOf,
} from '../support/otlp/client.ts';
import { createPushClient, type PushAnswer, type PushClient } from '../support/push/client.ts';
import { bodyOf } from '../support/push/stack.ts';
import { type LiveRecords, openLiveRecords } from '../support/stack/live-records.ts';
import { type Application, type Report, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

const root = resolve(import.meta.dirname, '../..');
const retentionDays = 30;
/** A change is promised everywhere within a second; a busy machine gets five. */
const boundMs = 5_000;

let pipelines: string;
let stack: Stack;
let live: LiveRecords;
let pushers: PushClient[];
let exporters: OtlpClient[];
let reports = 0;
let applications = 0;

beforeAll(async () => {
  pipelines = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  cpSync(join(root, 'pipelines'), pipelines, { recursive: true });
  const file = join(pipelines, 'traces.yaml');
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace('retention_days: off', `retention_days: ${retentionDays}`),
  );
  stack = await startStack({ ingress: 2, traces: true, env: { TIDEMARK_PIPELINES: pipelines } });
  live = await openLiveRecords(stack);
  pushers = stack.ingress.map(({ ports }) => createPushClient(ports['push'] ?? 0));
  exporters = stack.ingress.map(({ ports }) => createOtlpClient(ports['otlp'] ?? 0));
});
afterAll(async () => {
  for (const pusher of pushers ?? []) pusher.close();
  await Promise.all((exporters ?? []).map((exporter) => exporter.close()));
  await live?.close();
  await stack?.stop();
  if (pipelines !== undefined) rmSync(pipelines, { recursive: true, force: true });
});

const newReport = (): Promise<Report> => stack.createReport(`policies ${++reports}`);
const newApplication = (): Promise<Application> => stack.createApplication(`policies ${++applications}`);

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A point so far from now. */
const pointAt = (offsetMs: number, change: object = {}) => ({
  metrics: { a: 1 },
  target: 't',
  timestamp: Date.now() + offsetMs,
  ...change,
});

/** A span of its own trace so far from now. */
const spanAt = (offsetMs: number, change: object = {}) => {
  const time = `${Date.now() + offsetMs}000000`;
  return {
    traceId: randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    name: 'span',
    startTimeUnixNano: time,
    endTimeUnixNano: time,
    ...change,
  };
};

const exportTo = (exporter: OtlpClient, token: string, spans: object[]): Promise<OtlpAnswer> =>
  exporter.send({
    headers: { 'content-type': contentTypes.json, 'x-mon-token': token },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
  });

/** The answer to an exporter: the status, and reasons where some span was dropped or deferred. */
const toldBy = (answer: OtlpAnswer): string =>
  answer.status === 200 ? (partialOf('json', answer)?.errorMessage ?? '') : String(answer.status);

const droppedInTransfer = async (pipeline: string, reason: string): Promise<number> => {
  const metrics = await Promise.all(stack.transfer.map((transfer) => transfer.metrics()));
  const pattern = new RegExp(
    `items_dropped_total\\{[^}]*pipeline="${pipeline}",reason="${reason}"[^}]*\\} (\\d+)`,
  );
  return metrics.reduce((sum, text) => sum + Number(pattern.exec(text)?.[1] ?? 0), 0);
};

const deadLetters = async (): Promise<number> =>
  (await (await live.bus.manager()).streams.info('DEADLETTER')).state.messages;

/** Waits until both receivers pass the check. */
const onBoth = <T>(
  what: string,
  all: readonly T[],
  check: (one: T) => Promise<boolean>,
  withinMs = boundMs,
): Promise<unknown> =>
  Promise.all(all.map((one, index) => waitFor(`${what} at receiver ${index}`, withinMs, () => check(one))));

describe('a policy of a data id', () => {
  const reasonIn = (reason: string) => (answer: PushAnswer) => answer.text.includes(reason);
  const isPlain = (answer: PushAnswer) => answer.status === 200 && !answer.text.includes('dropped');
  type Case = [string, SourcePolicy, () => object[], (a: PushAnswer) => boolean, (a: PushAnswer) => boolean];
  const cases: Case[] = [
    [
      'a window ahead',
      { ahead_seconds_max: 60 },
      () => [pointAt(10 * minuteMs)],
      isPlain,
      reasonIn('timestamp_too_far_ahead'),
    ],
    [
      'no window ahead',
      { ahead_seconds_max: null },
      () => [pointAt(3 * hourMs)],
      reasonIn('timestamp_too_far_ahead'),
      isPlain,
    ],
    [
      'an age',
      { age_seconds_max: 60 },
      () => [pointAt(-10 * minuteMs)],
      isPlain,
      reasonIn('timestamp_too_old'),
    ],
    [
      'a retention',
      { retention_days: 2 },
      () => [pointAt(-3 * dayMs)],
      isPlain,
      reasonIn('timestamp_too_old'),
    ],
    [
      'the default retention',
      { retention_days_initial: 2 },
      // The day of two days ago is kept until all of it is two days old.
      () => [pointAt(-3 * dayMs), pointAt(-2 * dayMs), pointAt(0)],
      isPlain,
      ({ status, text }) =>
        status === 200 &&
        text.includes('1 point stored beyond the retention of 2 days') &&
        text.includes('"points_expiring":1'),
    ],
    [
      'points of a request',
      { points_max: 2 },
      () => [pointAt(0), pointAt(0), pointAt(0)],
      isPlain,
      (answer) => answer.status === 413 && answer.text.includes('3 points, the limit is 2'),
    ],
    [
      'metric columns',
      { metric_columns_max: 1 },
      () => [pointAt(0), pointAt(0, { metrics: { a: 1, [`b${randomBytes(4).toString('hex')}`]: 1 } })],
      isPlain,
      (answer) => answer.status === 200 && answer.text.includes('"metric_columns_exceeded":1'),
    ],
  ];
  it.each(cases)(
    'takes effect at every receiver within a second of its change, and ends with it: %s',
    async (_what, policy, data, isBefore, isAfter) => {
      const report = await newReport();
      const push = (pusher: PushClient) => pusher.send({ body: bodyOf(report, data()) });
      await onBoth('what holds without a policy', pushers, async (pusher) => isBefore(await push(pusher)));
      await live.sourcePolicy(report.data_source.mon_data_id, policy);
      await onBoth('the policy', pushers, async (pusher) => isAfter(await push(pusher)));
      await live.sourcePolicy(report.data_source.mon_data_id, {});
      await onBoth('no policy again', pushers, async (pusher) => isBefore(await push(pusher)));
    },
  );

  it('sends the dimensions beyond its columns into more_dimensions', async () => {
    const report = await newReport();
    await live.sourcePolicy(report.data_source.mon_data_id, { dimension_columns_max: 1, points_max: 1 });
    const [pusher] = pushers;
    await waitFor('the policy', boundMs, async () => {
      const answer = await pusher?.send({ body: bodyOf(report, [pointAt(0), pointAt(0)]) });
      return answer?.status === 413;
    });
    const dimension = { host: 'h', rack: 'r' };
    const answer = await pusher?.send({ body: bodyOf(report, [pointAt(0, { dimension, target: 'last' })]) });
    expect(answer?.status).toBe(200);
    const table = report.result_table.table_id;
    const stored = await waitFor('the row', 60_000, async () => {
      const { dataset } = await stack.query(
        `SELECT host, more_dimensions FROM "${table}" WHERE target = 'last'`,
      );
      return dataset[0];
    });
    expect(stored).toEqual(['h', '{"rack":"r"}']);
  });

  // Transfer has no policies: it validates again with the receiver's values, and would dead-letter a point that it
  // finds valid.
  it('travels with deferred points: transfer drops them for the same reason', async () => {
    const report = await newReport();
    await live.sourcePolicy(report.data_source.mon_data_id, { retention_days: 1 });
    const before = [await droppedInTransfer('metrics', 'timestamp_too_old'), await deadLetters()];
    let deferred = 0;
    await waitFor('the policy', boundMs, async () => {
      const answer = await pushers[0]?.send({ body: bodyOf(report, [pointAt(0), pointAt(-2 * dayMs)]) });
      const isTooOld = answer?.text.includes('timestamp_too_old') === true;
      if (isTooOld) deferred++;
      return isTooOld;
    });
    await stack.waitForEmptyStream('METRICS');
    expect([await droppedInTransfer('metrics', 'timestamp_too_old'), await deadLetters()]).toEqual([
      (before[0] ?? 0) + deferred,
      before[1],
    ]);
  });
});

describe('a policy of an application', () => {
  const attributes = [1, 2, 3].map((number) => ({ key: `k${number}`, value: { stringValue: 'v' } }));
  const event = () => ({ name: 'e', timeUnixNano: `${Date.now()}000000` });
  const link = { traceId: '1'.repeat(32), spanId: '1'.repeat(16) };
  const cases: [string, ApplicationPolicy, () => object[], before: string, after: string][] = [
    [
      'a window ahead',
      { ahead_seconds_max: 60 },
      () => [spanAt(10 * minuteMs)],
      '',
      'timestamp_too_far_ahead 1',
    ],
    [
      'no window ahead',
      { ahead_seconds_max: null },
      () => [spanAt(3 * hourMs)],
      'timestamp_too_far_ahead 1',
      '',
    ],
    ['an age', { age_seconds_max: 60 }, () => [spanAt(-10 * minuteMs)], '', 'timestamp_too_old 1'],
    ['a retention', { retention_days: 2 }, () => [spanAt(-3 * dayMs)], '', 'timestamp_too_old 1'],
    ['spans of a request', { spans_max: 1 }, () => [spanAt(0), spanAt(0)], '', '413'],
    ['attributes', { attributes_max: 2 }, () => [spanAt(0, { attributes })], '', 'too_many_attributes 1'],
    ['events', { events_max: 1 }, () => [spanAt(0, { events: [event(), event()] })], '', 'too_many_events 1'],
    ['links', { links_max: 1 }, () => [spanAt(0, { links: [link, link] })], '', 'too_many_links 1'],
  ];
  it.each(cases)(
    'takes effect at every receiver within a second of its change, and ends with it: %s',
    async (_what, policy, spans, before, after) => {
      const application = await newApplication();
      const isTold = (told: string) => async (exporter: OtlpClient) => {
        const answer = toldBy(await exportTo(exporter, application.token, spans()));
        return told === '' ? answer === '' : answer.includes(told);
      };
      await onBoth('what holds without a policy', exporters, isTold(before));
      await live.applicationPolicy(application.app_id, policy);
      await onBoth('the policy', exporters, isTold(after));
      await live.applicationPolicy(application.app_id, {});
      await onBoth('no policy again', exporters, isTold(before));
    },
  );

  let series = 0;
  /** Data points, each of a new series. */
  const dataPointsOf = (count: number) =>
    JSON.stringify({
      resourceMetrics: [
        {
          scopeMetrics: [
            {
              metrics: [
                {
                  name: 'load',
                  gauge: {
                    dataPoints: Array.from({ length: count }, () => ({
                      timeUnixNano: `${Date.now()}000000`,
                      asDouble: 1,
                      attributes: [{ key: 'index', value: { intValue: String(series++) } }],
                    })),
                  },
                },
              ],
            },
          ],
        },
      ],
    });

  it.each<[string, ApplicationPolicy, after: string]>([
    ['data points of a request', { data_points_max: 1 }, '413'],
    ['series', { series_max: 2 }, 'too_many_series'],
  ])(
    'takes effect on metrics at every receiver within a second of its change, and ends with it: %s',
    async (_what, policy, after) => {
      const application = await newApplication();
      const isTold = (told: string) => async (exporter: OtlpClient) => {
        const headers = { 'content-type': contentTypes.json, 'x-mon-token': application.token };
        const answer = await exporter.send({ path: '/v1/metrics', headers, body: dataPointsOf(2) });
        const text =
          answer.status === 200
            ? (partialOf('json', answer, 'rejectedDataPoints')?.errorMessage ?? '')
            : String(answer.status);
        return told === '' ? text === '' : text.includes(told);
      };
      await onBoth('what holds without a policy', exporters, isTold(''));
      await live.applicationPolicy(application.app_id, policy);
      await onBoth('the policy', exporters, isTold(after));
      await live.applicationPolicy(application.app_id, {});
      await onBoth('no policy again', exporters, isTold(''));
    },
  );

  it('truncates values, stores repeats and does not fill hosts, as it is set', async () => {
    const application = await newApplication();
    await live.applicationPolicy(application.app_id, {
      value_bytes_max: 5,
      deduplicate: false,
      fill_dimensions: false,
    });
    await onBoth('the policy', exporters, async (exporter) => {
      const body = [spanAt(0)];
      await exportTo(exporter, application.token, body);
      return toldBy(await exportTo(exporter, application.token, body)) === '';
    });
    const attribute = { key: 'k', value: { stringValue: '123456789' } };
    const last = [spanAt(0, { name: 'last', attributes: [attribute] })];
    for (const exporter of exporters) await exportTo(exporter, application.token, last);
    await stack.waitForEmptyStream('TRACES');
    const rows = await stack.spansQuery(
      `SELECT SpanAttributes, ResourceAttributes FROM otel.otel_traces
       WHERE AppId = ${application.app_id} AND SpanName = 'last'`,
    );
    const row = { SpanAttributes: { k: '12345' }, ResourceAttributes: {} };
    expect(rows).toEqual([row, row]);
  });

  it('accepts nothing older than the retention of the deployment, and transfer drops it for the same reason', async () => {
    const application = await newApplication();
    const before = [await droppedInTransfer('traces', 'timestamp_too_old'), await deadLetters()];
    const isTooOld = async (exporter: OtlpClient) =>
      toldBy(
        await exportTo(exporter, application.token, [spanAt(0), spanAt(-(retentionDays * dayMs) - minuteMs)]),
      ).includes('timestamp_too_old 1');
    const [exporter] = exporters;
    if (exporter === undefined) throw new Error('no exporter');
    expect(await isTooOld(exporter)).toBe(true);
    expect(
      toldBy(await exportTo(exporter, application.token, [spanAt(hourMs - retentionDays * dayMs)])),
    ).toBe('');
    await live.applicationPolicy(application.app_id, { age_seconds_max: null, spans_max: 7 });
    await waitFor('the policy', boundMs, async () => {
      const spans = Array.from({ length: 8 }, () => spanAt(0));
      return toldBy(await exportTo(exporter, application.token, spans)) === '413';
    });
    expect(await isTooOld(exporter)).toBe(true);
    await stack.waitForEmptyStream('TRACES');
    expect([await droppedInTransfer('traces', 'timestamp_too_old'), await deadLetters()]).toEqual([
      (before[0] ?? 0) + 2,
      before[1],
    ]);
  });
});

describe('a rotated token', () => {
  const overlapSeconds = 4;

  /** Uses the old token at both receivers until both refuse it; answers what it was answered too early or too late. */
  const watchOld = async (expiresAt: number, statusOf: (index: number) => Promise<number>) => {
    const wrong: string[] = [];
    let taken = 0;
    await onBoth(
      'the end of the old token',
      [0, 1],
      async (index) => {
        const before = Date.now();
        const status = await statusOf(index);
        if (before >= expiresAt * 1000 && status !== 401) wrong.push(`${status} after its end`);
        if (Date.now() < expiresAt * 1000 && status !== 200) wrong.push(`${status} before its end`);
        if (status === 200) taken++;
        return status === 401;
      },
      overlapSeconds * 1000 + boundMs,
    );
    return { wrong, wasTaken: taken > 0 };
  };
  const rightly = { wrong: [], wasTaken: true };

  const rotatedToken = 'f'.repeat(32);

  it('of a data id works everywhere within a second although it was refused just before, and the old one until it expires', async () => {
    const report = await newReport();
    const { mon_data_id: dataId, token } = report.data_source;
    const statusOf = async (index: number, given: string) =>
      (await pushers[index]?.send({ body: bodyOf(report, [pointAt(0)], { access_token: given }) }))?.status ??
      0;
    for (const index of [0, 1]) expect(await statusOf(index, rotatedToken)).toBe(401);
    const expiresAt = Math.floor(Date.now() / 1000) + overlapSeconds;
    await live.rotateSource(dataId, token, rotatedToken, expiresAt);
    const ended = watchOld(expiresAt, (index) => statusOf(index, token));
    await onBoth('the new token', [0, 1], async (index) => (await statusOf(index, rotatedToken)) === 200);
    expect(await ended).toEqual(rightly);
    for (const index of [0, 1]) expect(await statusOf(index, rotatedToken)).toBe(200);
  });

  it('of an application, too', async () => {
    const { app_id: appId, token } = await newApplication();
    const statusOf = async (index: number, given: string) => {
      const exporter = exporters[index];
      return exporter === undefined ? 0 : (await exportTo(exporter, given, [spanAt(0)])).status;
    };
    for (const index of [0, 1]) expect(await statusOf(index, rotatedToken)).toBe(401);
    const expiresAt = Math.floor(Date.now() / 1000) + overlapSeconds;
    await live.rotateApplication(appId, token, rotatedToken, expiresAt);
    const ended = watchOld(expiresAt, (index) => statusOf(index, token));
    await onBoth('the new token', [0, 1], async (index) => (await statusOf(index, rotatedToken)) === 200);
    expect(await ended).toEqual(rightly);
    for (const index of [0, 1]) expect(await statusOf(index, rotatedToken)).toBe(200);
  });
});
