import { counted } from '../../model/counted.ts';
import type { DiskSpace } from '../../stores/clickhouse/disks.ts';
import { type PulseRole, pulseRoles } from '../../telemetry/pulse.ts';
import type { Line, LineStore, LineStream, Trouble } from '../answers/line.ts';
import type { HourAccount } from './hour-account.ts';
import { processesMax, type SeenProcess } from './processes.ts';

type Kind = { readonly severity: Trouble['severity']; readonly runbook: string; readonly remedy: string };

const page = (runbook: string, remedy: string): Kind => ({ severity: 'page', runbook, remedy });
const ticket = (runbook: string, remedy: string): Kind => ({ severity: 'ticket', runbook, remedy });

/** Every kind of trouble, the most urgent first, with the entry of the runbook and the severity of the alarm that it belongs to. */
export const troubleKinds = {
  nats_away: page(
    'TidemarkDegraded',
    'Start NATS, or repair the network to it; receivers answer 503 meanwhile.',
  ),
  account_wrong: page('TidemarkUnbalanced', 'tidemark account names the owners, the minutes and the kinds.'),
  role_missing: page(
    'TidemarkRoleMissing',
    'Start a process of this role; acknowledged items wait in the streams.',
  ),
  breaker_open: page(
    'TidemarkBreakerOpen',
    'Read the reasons with tidemark dlq list, repair the cause, then tidemark dlq resume.',
  ),
  dead_letters_held: page(
    'TidemarkDeadLettersHeld',
    'Make room: tidemark dlq redrive or tidemark dlq purge.',
  ),
  stream_missing: page(
    'TidemarkStreamMissing',
    'Metadata creates it again within ten seconds; if not, its log and /readyz say why.',
  ),
  stream_nearly_full: page(
    'TidemarkStreamNearlyFull',
    'Repair what keeps the stream from draining, or raise its bytes_max.',
  ),
  stream_full_soon: page(
    'TidemarkStreamFullSoon',
    'Repair what keeps the stream from draining, or raise its bytes_max.',
  ),
  no_workers: page('TidemarkNoWorkers', 'Start transfer.'),
  store_away: page('TidemarkWritesFail', 'Repair the store; its rows wait in the stream.'),
  disk_full: page(
    'TidemarkDiskFull',
    'Make room or enlarge the volume, then docs/stores-in-trouble.md; items wait in the streams.',
  ),
  table_suspended: page(
    'TidemarkTableSuspended',
    'Free disk space, or raise the limit of open files (nofile) where QuestDB has none left, then ALTER TABLE … RESUME WAL.',
  ),
  table_unavailable: page(
    'TidemarkTableSetAside',
    'Repair the table, then tidemark dlq redrive --reason table_unavailable.',
  ),
  table_waits: page('TidemarkTableWaits', 'Repair QuestDB by the reason; no point is lost.'),
  lag: page('TidemarkLag', 'Repair the store if it is slow, else add transfer replicas.'),
  process_gone: page(
    'TidemarkRoleGone',
    'Start it again, unless it was removed on purpose; read its last log lines.',
  ),
  envelope_newer: page('TidemarkEnvelopeNewer', 'Upgrade transfer.'),
  account_not_known: page('TidemarkAccountNotKnown', 'Look for the cause at LEDGER and ClickHouse.'),
  rows_unread: page(
    'TidemarkAccountNotKnown',
    'Read tidemark account: restore the days that it names, or let metadata read the stream.',
  ),
  not_ready: page(
    'TidemarkNotReady',
    'It starts, stops or can do none of its work: the check has the reason.',
  ),
  dependency_away: page(
    'TidemarkDegraded',
    'Repair the dependency that is named; tidemark doctor checks each. The role works on without it.',
  ),
  dead_letters_fill: ticket(
    'TidemarkDeadLetters',
    'tidemark dlq list has the reasons; repair the cause, then tidemark dlq redrive.',
  ),
  stream_half_full: ticket(
    'TidemarkStreamHalfFull',
    'Find out why the stream does not drain: tidemark doctor.',
  ),
  event_loop_slow: ticket('TidemarkEventLoopSlow', 'Add replicas, or give the process more of a core.'),
  processes_not_shown: ticket(
    'TidemarkRoleMissing',
    'Nothing is lost; the figures of all processes are in Prometheus. End processes that are not needed.',
  ),
  clock_off: ticket(
    'TidemarkClockSkew',
    'Set the clocks by NTP: receivers judge the times of items by their own.',
  ),
  versions_differ: ticket('TidemarkMixedVersions', 'Finish the rollout, or undo it.'),
  degraded: ticket('TidemarkPartlyDegraded', 'Repair what is named; the role works on.'),
} as const satisfies Readonly<Record<string, Kind>>;

/** Where the alarms begin. */
const bounds = {
  lagSeconds: 300,
  nearlyFull: 0.85,
  halfFull: 0.5,
  secondsToFull: 900,
  loopMs: 500,
  notKnownMs: 300_000,
  clockMs: 5_000,
  diskFreeShare: 0.05,
};

type TroubleCode = keyof typeof troubleKinds;

const codes: readonly string[] = Object.keys(troubleKinds);
const troublesMax = 50;

const trouble = (code: TroubleCode, text: string): Trouble => {
  const { severity, runbook, remedy } = troubleKinds[code];
  return { code, severity, text, remedy, runbook: `docs/runbook.md#${runbook.toLowerCase()}` };
};

/** Degraded checks that can wait: items are stored all the same, those of many days after others. */
const canWait: ReadonlySet<string> = new Set(['outcomes', 'ledger_fill', 'placements', 'many_days']);

/** The trouble of a check that is not well; undefined for one that has troubles from elsewhere. */
const codeOfCheck = (role: PulseRole, check: string, isDegraded: boolean): TroubleCode | undefined => {
  if (check === 'breaker' || check === 'outcomes_breaker') return 'breaker_open';
  if (check === 'deadletter' || check === 'outcomes_deadletter') return 'dead_letters_held';
  if (check === 'envelope') return 'envelope_newer';
  // Stores and tables have troubles of their own, one for all processes that miss them.
  if (check === 'questdb' || check === 'clickhouse' || check === 'questdb_tables') return undefined;
  if (!isDegraded) return 'not_ready';
  // Of a further instance: transfer alone waits for it.
  return canWait.has(check) || (check === 'questdb_streams' && role !== 'transfer')
    ? 'degraded'
    : 'dependency_away';
};

const nameOf = ({ role, pulse }: SeenProcess): string => `${role} ${pulse.host}:${pulse.pid}`;

/** One trouble for each check, however many processes are not well in it. */
const checkTroubles = (there: readonly SeenProcess[]): Trouble[] => {
  const found = new Map<
    string,
    { code: TroubleCode; check: string; why: string; processes: SeenProcess[] }
  >();
  for (const process of there)
    for (const kind of ['failing', 'degraded'] as const)
      for (const [check, why] of Object.entries(process.pulse[kind])) {
        const code = codeOfCheck(process.role, check, kind === 'degraded');
        if (code === undefined) continue;
        const key = `${code} ${process.role} ${check}`;
        const known = found.get(key) ?? { code, check, why, processes: [] };
        known.processes.push(process);
        found.set(key, known);
      }
  return [...found.values()].map(({ code, check, why, processes: [first, ...more] }) => {
    const name = first === undefined ? '' : nameOf(first);
    return trouble(code, `${name}${more.length === 0 ? '' : ` and ${more.length} more`}: ${check}: ${why}`);
  });
};

/** What a process says of a store or its tables. A process of an earlier version says it under `failing`. */
const problemOf = ({ failing, degraded }: SeenProcess['pulse'], check: string): string | undefined =>
  degraded[check] ?? failing[check];

/** Processes whose clock differs from that of NATS: metadata's own may be the wrong one. */
const clockTroubles = (there: readonly SeenProcess[], natsMs: number | undefined): Trouble[] =>
  there.flatMap((each) => {
    const aheadMs = each.clockMs === undefined || natsMs === undefined ? 0 : each.clockMs - natsMs;
    if (Math.abs(aheadMs) <= bounds.clockMs) return [];
    const seconds = counted(Math.round(Math.abs(aheadMs) / 1_000), 'second');
    const way = aheadMs > 0 ? 'ahead of' : 'behind';
    return [trouble('clock_off', `${nameOf(each)}: its clock is ${seconds} ${way} that of NATS`)];
  });

/** A process that stops in order says so; these have not. */
const processTroubles = (
  processes: readonly SeenProcess[],
  { isSettled, isFull }: { readonly isSettled: boolean; readonly isFull: boolean },
): Trouble[] => {
  const there = processes.filter(({ isGone }) => !isGone);
  const versions = new Map<string, number>();
  for (const { pulse } of there) versions.set(pulse.version, (versions.get(pulse.version) ?? 0) + 1);
  const missing = pulseRoles.filter(
    (role) => isSettled && !isFull && !there.some((each) => each.role === role),
  );
  const slow = there.filter(({ pulse }) => pulse.loopP99Ms > bounds.loopMs);
  return [
    ...missing.map((role) => trouble('role_missing', `no process of ${role} reports that it runs`)),
    ...processes
      .filter(({ isGone }) => isGone)
      .map((each) =>
        trouble(
          'process_gone',
          `${nameOf(each)} sent its last pulse ${counted(each.silentSeconds, 'second')} ago`,
        ),
      ),
    ...checkTroubles(there),
    ...slow.map((each) =>
      trouble('event_loop_slow', `${nameOf(each)}: the event loop is ${each.pulse.loopP99Ms} ms late`),
    ),
    ...(isFull
      ? [
          trouble(
            'processes_not_shown',
            `more than ${processesMax} processes send pulses: the others are in no figure here`,
          ),
        ]
      : []),
    ...(versions.size <= 1
      ? []
      : [
          trouble(
            'versions_differ',
            [...versions]
              .map(([version, processes]) => `${version} (${counted(processes, 'process', 'processes')})`)
              .join(', '),
          ),
        ]),
  ];
};

/** Tables of QuestDB, by the worst that a process says of an instance. */
const tableTroubles = (there: readonly SeenProcess[]): Trouble[] => {
  const found = new Map<string, Trouble>();
  const tell = (code: TroubleCode, place: string, text: string): void => {
    if (!found.has(`${code} ${place}`)) found.set(`${code} ${place}`, trouble(code, text));
  };
  for (const { pulse } of there) {
    const why = problemOf(pulse, 'questdb_tables');
    const more = why === undefined ? '' : `: ${why}`;
    let isNamed = false;
    for (const [instance, { suspended, broken, noUpsertKeys }] of Object.entries(
      pulse.transfer?.tables ?? {},
    )) {
      const all = suspended + broken + noUpsertKeys;
      if (all === 0) continue;
      isNamed = true;
      tell('table_suspended', instance, `QuestDB ${instance}: ${counted(all, 'table')} not healthy${more}`);
    }
    for (const [label, { setAside }] of Object.entries(pulse.transfer?.pipelines ?? {}))
      if (setAside > 0) {
        isNamed = true;
        tell('table_unavailable', label, `${label}: ${counted(setAside, 'unavailable table')}${more}`);
      }
    if (why !== undefined && !isNamed) tell('table_waits', '', why);
  }
  return [...found.values()];
};

const streamTroubles = (streams: readonly LineStream[], deadLettered: number): Trouble[] =>
  streams.flatMap(({ stream, ...each }) => {
    if (each.state === 'missing') return [trouble('stream_missing', `${stream} or its consumer is missing`)];
    // It gives up its oldest entries.
    if (stream === 'AUDIT') return [];
    const found: Trouble[] = [];
    const isDeadLetters = stream === 'DEADLETTER';
    const share = `${stream} is ${Math.round(each.fill * 100)} % full`;
    if (each.fill > bounds.nearlyFull) found.push(trouble('stream_nearly_full', share));
    else if (each.seconds_to_full !== null && each.seconds_to_full < bounds.secondsToFull)
      found.push(
        trouble('stream_full_soon', `${share}, and full in ${counted(each.seconds_to_full, 'second')}`),
      );
    else if (each.fill > bounds.halfFull) found.push(trouble('stream_half_full', share));
    if (isDeadLetters && (deadLettered > 0 || (each.growth_bytes_per_second ?? 0) > 0))
      found.push(
        trouble(
          'dead_letters_fill',
          `${counted(each.messages, 'dead letter')}, ${deadLettered} items a second more`,
        ),
      );
    if (each.consumer === null) return found;
    if (each.pending > 0 && each.waiting_pulls === 0 && each.ack_pending === 0)
      found.push(
        trouble(
          'no_workers',
          `${stream}: ${counted(each.pending, 'message')} wait, and no worker reads them`,
        ),
      );
    if (each.oldest_age_seconds > bounds.lagSeconds && each.messages > 0)
      found.push(trouble('lag', `${stream}: the oldest message is ${each.oldest_age_seconds} s old`));
    return found;
  });

/** What transfer says of each instance of a store: of several, its text has a part for each, with its name. */
const partsOf = (why: string, instances: readonly string[]): ReadonlyMap<string, string> => {
  if (instances.length <= 1) return new Map([[instances[0] ?? '', why]]);
  const parts = new Map<string, string>();
  let name = '';
  for (const part of why.split('; ')) {
    name = instances.find((each) => part.startsWith(`${each}: `)) ?? name;
    const before = parts.get(name);
    parts.set(name, before === undefined ? part : `${before}; ${part}`);
  }
  return parts;
};

/** Stores that metadata misses, and those that only transfer misses. */
const storeTroubles = (stores: readonly LineStore[], there: readonly SeenProcess[]): Trouble[] => {
  const away = stores.filter(({ ready }) => ready === false);
  const missed = (['questdb', 'clickhouse'] as const).flatMap((store) => {
    const found = new Map<string, string>();
    const instances = stores.filter((each) => each.store === store).map(({ instance }) => instance);
    for (const process of there) {
      const why = process.role === 'transfer' ? problemOf(process.pulse, store) : undefined;
      for (const [instance, part] of why === undefined ? [] : partsOf(why, instances))
        if (!found.has(instance)) found.set(instance, `${nameOf(process)}: ${store}: ${part}`);
    }
    for (const each of away) if (each.store === store) found.delete(each.instance);
    return [...found.values()];
  });
  const texts = away.map(({ store, instance, why }) =>
    store === 'questdb' ? `QuestDB ${instance}: ${why}` : `ClickHouse: ${why}`,
  );
  return [...texts, ...missed].map((text) => trouble('store_away', text));
};

const unreadTroubles = (account: HourAccount | undefined): Trouble[] => {
  const { unreadOwners = 0, unreadStreams = [] } = account ?? {};
  const texts = [
    ...unreadStreams.map((stream) => `${stream} cannot be read`),
    ...(unreadOwners === 0
      ? []
      : [
          `${counted(unreadOwners, 'account')} of the last hour not known: a stream, or rows in a store, cannot be read`,
        ]),
  ];
  return texts.length === 0 ? [] : [trouble('rows_unread', texts.join('; '))];
};

const accountTroubles = (
  account: HourAccount | undefined,
  notKnownSince: number | undefined,
  nowMs: number,
): Trouble[] => {
  const unread = unreadTroubles(account);
  if (account?.addsUp === false)
    return [
      trouble(
        'account_wrong',
        `${counted(account.wrongOwners, 'account')} of the last hour with open differences`,
      ),
      ...unread,
    ];
  if (notKnownSince !== undefined && nowMs - notKnownSince > bounds.notKnownMs)
    return [
      trouble(
        'account_not_known',
        `not compared since ${new Date(notKnownSince).toISOString().slice(0, 19)}Z`,
      ),
    ];
  return unread;
};

const diskTroubles = (disks: ReadonlyMap<string, DiskSpace>): Trouble[] =>
  [...disks].flatMap(([disk, { freeBytes, totalBytes }]) =>
    freeBytes < bounds.diskFreeShare * totalBytes
      ? [
          trouble(
            'disk_full',
            `disk ${disk}: ${Math.floor((1_000 * freeBytes) / totalBytes) / 10} % of it is free`,
          ),
        ]
      : [],
  );

/** All that is wrong, the most urgent first. */
export const troublesOf = (sources: {
  readonly nowMs: number;
  readonly isConnected: boolean;
  readonly isSettled: boolean;
  readonly isFull: boolean;
  readonly processes: readonly SeenProcess[];
  readonly streams: readonly LineStream[];
  readonly stores: readonly LineStore[];
  readonly disks: ReadonlyMap<string, DiskSpace>;
  readonly totals: Line['totals'];
  readonly account: HourAccount | undefined;
  readonly notKnownSince: number | undefined;
  /** What the clock of NATS says; undefined where it is not known. */
  readonly natsMs: number | undefined;
}): Trouble[] => {
  const { isConnected, isSettled, isFull, processes, streams, stores, totals } = sources;
  const there = processes.filter(({ isGone }) => !isGone);
  return [
    ...(isConnected
      ? []
      : [trouble('nats_away', 'metadata has no connection to NATS: the figures are the last ones')]),
    ...accountTroubles(sources.account, sources.notKnownSince, sources.nowMs),
    ...processTroubles(processes, { isSettled: isConnected && isSettled, isFull }),
    ...clockTroubles(there, sources.natsMs),
    ...tableTroubles(there),
    ...streamTroubles(streams, totals.dead_lettered_items_per_second),
    ...diskTroubles(sources.disks),
    ...storeTroubles(stores, there),
  ]
    .toSorted((left, right) => codes.indexOf(left.code) - codes.indexOf(right.code))
    .slice(0, troublesMax);
};
