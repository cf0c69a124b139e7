import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lineShape } from '../../../../src/metadata/answers/line.ts';
import { termsOf } from '../../../../src/metadata/pulse/hour-account.ts';
import { drawLine, type LineSources, type SeenStream } from '../../../../src/metadata/pulse/line.ts';
import { parseTopics } from '../../../../src/metadata/pulse/live-topics.ts';
import type { SeenProcess } from '../../../../src/metadata/pulse/processes.ts';
import type { StreamTrend } from '../../../../src/metadata/pulse/stream-trends.ts';
import { troubleKinds } from '../../../../src/metadata/pulse/troubles.ts';
import { byPipeline } from '../../../../src/model/signals.ts';
import type { Pulse } from '../../../../src/telemetry/pulse.ts';
import { alarms } from '../../../support/deploy/dashboards.ts';
import { ingressOf, pipelineOf, pulseOf } from '../../../support/pulses.ts';
import { trendOf } from '../../../support/trends.ts';

const seen = (role: SeenProcess['role'], fields: Partial<Pulse> = {}, isGone = false): SeenProcess => ({
  role,
  id: '0'.repeat(16),
  pulse: pulseOf(fields),
  isGone,
  silentSeconds: isGone ? 9 : 0,
  clockMs: fields.clockMs,
});

const transferOf = (pipelines: NonNullable<Pulse['transfer']>['pipelines'], tables = {}): Partial<Pulse> => ({
  transfer: { pipelines, tables },
});

const stream = (name: string, fields: Partial<StreamTrend> = {}): SeenStream => ({
  name,
  consumer: name === 'DEADLETTER' ? undefined : 'worker',
  isMissing: false,
  trend: trendOf(name, fields),
});

const well: LineSources = {
  nowMs: 1_800_000_000_123,
  natsMs: 1_800_000_000_123,
  isConnected: true,
  isSettled: true,
  isFull: false,
  processes: [
    seen('ingress', { ingress: ingressOf() }),
    seen('transfer', transferOf({ metrics: pipelineOf(), traces: pipelineOf({ items: 5, dropped: 0 }) })),
    seen('metadata'),
  ],
  streams: ['METRICS', 'TRACES', 'LEDGER', 'DEADLETTER'].map((name) => stream(name)),
  stores: [
    { store: 'questdb', instance: 'default', ready: true, why: null },
    { store: 'clickhouse', instance: 'default', ready: true, why: null },
  ],
  disks: new Map([['data', { freeBytes: 50, totalBytes: 1_000 }]]),
  instances: ['default'],
  account: undefined,
  accountWhy: undefined,
  notKnownSince: undefined,
  isLedgerBehind: false,
};

const codesOf = (changes: Partial<LineSources>): string[] =>
  drawLine({ ...well, ...changes }).troubles.map(({ code }) => code);

const lagging = (fields: Partial<StreamTrend>): Partial<LineSources> => ({
  streams: [stream('METRICS', { messages: 1, ...fields })],
});

const hourAccount = {
  ...{
    since: 1,
    until: 2,
    addsUp: true,
    wrongOwners: 0,
    unreadOwners: 0,
    unreadStreams: [],
    differences: [],
  },
  terms: byPipeline(() => termsOf([])),
};

const withProcess = (process: SeenProcess): Partial<LineSources> => ({
  processes: [...well.processes.filter(({ role }) => role !== process.role), process],
});

describe('the line', () => {
  it('has the rates of all processes on its edges, and no troubles where all is well', () => {
    const second = seen('ingress', { ingress: ingressOf() });
    const line = drawLine({ ...well, processes: [...well.processes, second] });
    expect(lineShape.parse(line)).toEqual(line);
    expect(line.troubles).toEqual([]);
    const rateOf = (from: string, to: string) =>
      line.edges.find((edge) => edge.from === from && edge.to === to);
    expect(rateOf('producers:metrics', 'receiver:push')).toMatchObject({
      items_per_second: 20,
      bytes_per_second: 2_000,
    });
    expect(rateOf('receiver:push', 'stream:METRICS')).toMatchObject({ items_per_second: 20 });
    expect(rateOf('stream:METRICS', 'transfer:metrics')).toMatchObject({
      items_per_second: 10,
      bytes_per_second: 900,
    });
    expect(rateOf('transfer:traces', 'store:clickhouse')).toMatchObject({ items_per_second: 5 });
    expect(line.totals).toMatchObject({
      accepted_items_per_second: 30,
      stored_items_per_second: 14,
      dropped_items_per_second: 3,
    });
    const ids = new Set(line.nodes.map(({ id }) => id));
    expect(line.edges.filter(({ from, to }) => !ids.has(from) || !ids.has(to))).toEqual([]);
  });

  it('says that the last hour is not known while lines of both books wait in LEDGER, unless it is wrong all the same', () => {
    const addsUp = (isLedgerBehind: boolean, given = {}) =>
      drawLine({ ...well, account: { ...hourAccount, ...given }, isLedgerBehind }).account?.adds_up;
    expect(addsUp(false)).toBe(true);
    expect(addsUp(true)).toBe(null);
    expect(addsUp(true, { addsUp: false })).toBe(false);
  });

  it('divides the points among the streams of several instances by their messages', () => {
    const streams = [
      stream('METRICS', { messagesInPerSecond: 3 }),
      stream('METRICS-b', { messagesInPerSecond: 1 }),
    ];
    const { edges } = drawLine({ ...well, streams, instances: ['default', 'b'] });
    const items = edges
      .filter(({ from }) => from === 'receiver:push')
      .map(({ to, items_per_second }) => [to, items_per_second]);
    expect(items).toContainEqual(['stream:METRICS', 7.5]);
    expect(items).toContainEqual(['stream:METRICS-b', 2.5]);
  });

  it('leaves out the rates of a process that is gone', () => {
    const gone = seen('ingress', { ingress: ingressOf() }, true);
    const line = drawLine({ ...well, ...withProcess(gone) });
    expect(line.totals.accepted_items_per_second).toBe(0);
    expect(line.processes.find(({ role }) => role === 'ingress')).toMatchObject({
      state: 'gone',
      items_per_second: 0,
    });
  });
});

describe('the troubles', () => {
  it.each<[string, Partial<LineSources>, string[]]>([
    [
      'NATS away: nobody counts as gone',
      { isConnected: false, ...withProcess(seen('transfer', {}, true)) },
      ['nats_away'],
    ],
    [
      'a process gone, and the only one of its role',
      withProcess(seen('transfer', {}, true)),
      ['role_missing', 'process_gone'],
    ],
    ['no missing role while not every process can have been heard', { isSettled: false, processes: [] }, []],
    [
      'more processes than are heard: one of a role may be among the others',
      { isFull: true, processes: [seen('ingress')] },
      ['processes_not_shown'],
    ],
    ['a breaker open', withProcess(seen('transfer', { failing: { breaker: 'many' } })), ['breaker_open']],
    [
      'dead letters held',
      withProcess(seen('transfer', { failing: { deadletter: 'full' } })),
      ['dead_letters_held'],
    ],
    ['another check', withProcess(seen('ingress', { failing: { receiver: 'starts' } })), ['not_ready']],
    [
      'something degraded that can wait',
      withProcess(seen('metadata', { degraded: { placements: 'x' } })),
      ['degraded'],
    ],
    [
      'messages of many days that wait',
      withProcess(seen('transfer', { degraded: { many_days: 'spans: x' } })),
      ['degraded'],
    ],
    [
      'something degraded that cannot',
      withProcess(seen('transfer', { degraded: { ledger: 'full' } })),
      ['dependency_away'],
    ],
    [
      'an unavailable table',
      withProcess(seen('transfer', transferOf({ metrics: pipelineOf({ setAside: 1 }) }))),
      ['table_unavailable'],
    ],
    [
      'a suspended table',
      withProcess(
        seen('transfer', transferOf({}, { default: { suspended: 1, broken: 0, noUpsertKeys: 0 } })),
      ),
      ['table_suspended'],
    ],
    [
      'a table that waits',
      withProcess(seen('transfer', { failing: { questdb_tables: 't takes no rows' } })),
      ['table_waits'],
    ],
    [
      'a clock ahead of that of NATS',
      withProcess(seen('ingress', { clockMs: 1_800_000_005_124 })),
      ['clock_off'],
    ],
    ['a clock behind it', withProcess(seen('transfer', { clockMs: 1_799_000_000_000 })), ['clock_off']],
    ['a clock that is nearly right', withProcess(seen('metadata', { clockMs: 1_800_000_005_122 })), []],
    [
      'a clock while that of NATS is not known',
      { ...withProcess(seen('ingress', { clockMs: 1 })), natsMs: undefined },
      [],
    ],
    ['two versions', withProcess(seen('ingress', { version: '2.0.0' })), ['versions_differ']],
    ['a slow event loop', withProcess(seen('ingress', { loopP99Ms: 900 })), ['event_loop_slow']],
    ['a stream half full', { streams: [stream('LEDGER', { bytes: 600 })] }, ['stream_half_full']],
    [
      'nearly full',
      { streams: [stream('LEDGER', { bytes: 950, secondsToFull: 5 })] },
      ['stream_nearly_full'],
    ],
    ['full soon', { streams: [stream('LEDGER', { bytes: 600, secondsToFull: 50 })] }, ['stream_full_soon']],
    [
      'lag without workers',
      { streams: [stream('METRICS', { messages: 5, pending: 5, waitingPulls: 0, oldestAgeSeconds: 301 })] },
      ['no_workers', 'lag'],
    ],
    [
      'a missing stream',
      { streams: [{ ...stream('METRICS'), isMissing: true, trend: undefined }] },
      ['stream_missing'],
    ],
    [
      'dead letters that grow',
      { streams: [stream('DEADLETTER', { growthPerSecond: 3 })] },
      ['dead_letters_fill'],
    ],
    [
      'a store away',
      { stores: [{ store: 'questdb', instance: 'default', ready: false, why: 'no answer' }] },
      ['store_away'],
    ],
    [
      'a store that only transfer misses',
      withProcess(seen('transfer', { failing: { clickhouse: 'refused' } })),
      ['store_away'],
    ],
    [
      'rows that a store refuses to read',
      { account: { ...hourAccount, addsUp: null, unreadOwners: 1 } },
      ['rows_unread'],
    ],
    [
      'a stream that cannot be read and that no account of the last hour has',
      { account: { ...hourAccount, addsUp: null, unreadStreams: ['METRICS-z'] } },
      ['rows_unread'],
    ],
    [
      'a disk with less than 5 % free',
      { disks: new Map([['data', { freeBytes: 49, totalBytes: 1_000 }]]) },
      ['disk_full'],
    ],
    ['an account that is not known', { notKnownSince: 1_799_999_000_000 }, ['account_not_known']],
  ])('name %s', (_, changes, codes) => {
    expect(codesOf(changes)).toEqual(codes);
  });

  it('come with the most urgent first, each once for all processes that share it', () => {
    const failing = { failing: { receiver: 'starts' } };
    const processes = [...well.processes, seen('ingress', failing), seen('ingress', { ...failing, pid: 2 })];
    const notKnownSince = 1_799_999_000_000;
    const { troubles } = drawLine({
      ...well,
      processes,
      notKnownSince,
      streams: [stream('LEDGER', { bytes: 950 })],
    });
    expect(troubles.map(({ code }) => code)).toEqual([
      'stream_nearly_full',
      'account_not_known',
      'not_ready',
    ]);
    expect(troubles[2]?.text).toBe('ingress host:1 and 1 more: receiver: starts');
  });

  it('name a store that only transfer misses beside one that metadata misses, each instance once', () => {
    const why = 'b: connect ECONNREFUSED; still; c: no answer';
    const misses = { degraded: { questdb: why } };
    const { troubles } = drawLine({
      ...well,
      processes: [...well.processes, seen('transfer', misses), seen('transfer', { ...misses, pid: 2 })],
      instances: ['default', 'b', 'c'],
      stores: [
        ...well.stores,
        { store: 'questdb', instance: 'b', ready: true, why: null },
        { store: 'questdb', instance: 'c', ready: false, why: 'refused' },
      ],
    });
    expect(troubles.map(({ text }) => text)).toEqual([
      'QuestDB c: refused',
      'transfer host:1: questdb: b: connect ECONNREFUSED; still',
    ]);
  });

  // Once a process has started, NATS is under `degraded`: TidemarkNotReady does not fire.
  it('of NATS links to the alarm that fires, as the runbook says', () => {
    const { troubles } = drawLine({ ...well, isConnected: false });
    expect(troubles.map(({ runbook }) => runbook)).toEqual(['docs/runbook.md#tidemarkdegraded']);
    const runbook = readFileSync(join(import.meta.dirname, '../../../../docs/runbook.md'), 'utf8');
    expect(runbook).toContain('TidemarkDegraded says that NATS is');
  });

  // Who is woken by an alarm finds no ticket in its place, and no trouble pages before its alarm does.
  it('have the severity of the alarm that they link to', () => {
    const severities = new Map(alarms().map(({ alert, labels }) => [alert, labels.severity]));
    const differing = Object.entries(troubleKinds).filter(
      ([, { runbook, severity }]) => severities.get(runbook) !== severity,
    );
    // The alarm of its entry does not fire for it.
    expect(differing.map(([code]) => code)).toEqual(['processes_not_shown']);
  });

  it.each<[string, RegExp, (bound: number) => Partial<LineSources>, string]>([
    ['TidemarkLag', /> ([\d.]+)$/, (oldestAgeSeconds) => lagging({ oldestAgeSeconds }), 'lag'],
    ['TidemarkStreamHalfFull', /> ([\d.]+)$/, (fill) => lagging({ bytes: 1_000 * fill }), 'stream_half_full'],
    [
      'TidemarkStreamNearlyFull',
      /> ([\d.]+)$/,
      (fill) => lagging({ bytes: 1_000 * fill }),
      'stream_nearly_full',
    ],
    [
      'TidemarkEventLoopSlow',
      /> ([\d.]+)$/,
      (seconds) => withProcess(seen('ingress', { loopP99Ms: 1_000 * seconds })),
      'event_loop_slow',
    ],
    [
      'TidemarkAccountNotKnown',
      /> ([\d.]+)$/,
      (seconds) => ({ notKnownSince: well.nowMs - 1_000 * seconds }),
      'account_not_known',
    ],
    [
      'TidemarkStreamFullSoon',
      /< (\d+) \*/,
      // Fewer seconds are worse: the mirror image around the bound.
      (seconds) => lagging({ secondsToFull: 1_800 - seconds }),
      'stream_full_soon',
    ],
  ])('begin where %s begins', (name, pattern, at, code) => {
    const { expr } = alarms().find(({ alert }) => alert === name) ?? { expr: '' };
    const bound = Number(pattern.exec(expr)?.[1]);
    expect(codesOf(at(bound))).not.toContain(code);
    expect(codesOf(at(bound * 1.01))).toContain(code);
  });

  const runbook = readFileSync(join(import.meta.dirname, '../../../../docs/runbook.md'), 'utf8');

  // Hundreds of tables were suspended for want of open files, and their operator was sent to a disk with room.
  it('of a suspended table names the limit of open files beside the disk, as the runbook does', () => {
    const [, entry] = /^### TidemarkTableSuspended$(.*?)^### /ms.exec(runbook) ?? [];
    for (const text of [troubleKinds.table_suspended.remedy, entry]) expect(text).toMatch(/disk.*nofile/s);
  });

  it('each link to an entry of the runbook', () => {
    const entries = [...runbook.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
    for (const { runbook: entry } of Object.values(troubleKinds)) expect(entries).toContain(entry);
  });
});

describe('the topics of the live view', () => {
  it('are a list of names, with the owner of drops', () => {
    expect(parseTopics('line,drops:1500001,drops:app:7,dead_letters,line')).toEqual([
      { kind: 'line' },
      { kind: 'drops', filter: { dataId: 1_500_001 } },
      { kind: 'drops', filter: { appId: 7 } },
      { kind: 'dead_letters' },
    ]);
  });

  it.each(['', 'lines', 'drops:x', 'drops:app:', 'line,,drops', '1,2,3,4,5,6,7,8,9'])('refuse %j', (text) => {
    expect(() => parseTopics(text)).toThrow(/^topics: /);
  });
});
