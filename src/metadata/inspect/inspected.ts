import type { Bus } from '../../bus/connection.ts';
import type { StreamDefinition } from '../../config/pipelines.ts';
import { type Settings, settingDefinitions } from '../../config/settings.ts';
import { type ShownSetting, shownSettings } from '../../config/shown-settings.ts';
import {
  type Finding,
  look,
  lookAtAddresses,
  lookAtClickhouse,
  lookAtQuestdb,
  lookAtStreams,
} from '../../doctor/dependencies.ts';
import { Fault } from '../../model/fault.ts';
import type { Clickhouse } from '../../stores/clickhouse/client.ts';
import type { Account } from '../account/account.ts';
import type { DiskReads } from '../disk/disk-use.ts';
import type { Readers } from '../explore/explore.ts';
import type { PlacedInstance } from '../tables/placement.ts';
import { type Arrivals, createArrivals } from './arrivals.ts';
import { type CardinalityReads, createCardinalityReads } from './cardinality.ts';
import { type Receivers, receiversOf } from './receivers.ts';

/** The findings of one run of the checks. */
export type Examination = {
  readonly at: number;
  readonly well: boolean;
  readonly findings: readonly Finding[];
};

/** What the pages of the console look at beside the records. */
export type Inspected = {
  readonly questdb: readonly Pick<PlacedInstance, 'name' | 'sql'>[];
  readonly arrivals: Arrivals;
  readonly cardinality: CardinalityReads;
  readonly disk: DiskReads;
  /** As they were when this process began. */
  readonly settings: readonly (ShownSetting & { readonly meaning: string })[];
  readonly receivers: Receivers;
  readonly schemasFolder: string;
  /** Requests per second where a record has none of its own. */
  readonly maxRateDefault: number;
  /** Values from which on a dimension is full; 0: no bound. */
  readonly dimensionValuesMax: number;
  /** Runs the checks of the dependencies, or waits for the run that is under way. */
  examine(): Promise<Examination>;
};

export type InspectedDeps = {
  readonly bus: Bus;
  readonly clickhouse: Clickhouse;
  readonly readers: Pick<Readers, 'clickhouse'>;
  readonly instances: readonly Pick<PlacedInstance, 'name' | 'sql'>[];
  readonly streams: readonly StreamDefinition[];
  readonly account: Pick<Account, 'state'>;
  readonly disk: DiskReads;
  readonly settings: Settings;
  readonly env: NodeJS.ProcessEnv;
  readonly now: () => number;
};

const booksText = ({ state }: Pick<Account, 'state'>): string => {
  const { notKnownSince, why } = state;
  if (notKnownSince === undefined) return 'are compared';
  const since = new Date(notKnownSince).toISOString();
  throw new Fault(
    'transient',
    'books_not_compared',
    `the books could not be compared since ${since}: ${why}`,
  );
};

const examineAll = async ({
  bus,
  clickhouse,
  readers,
  instances,
  streams,
  account,
  settings,
  now,
}: InspectedDeps): Promise<Examination> => {
  const at = Math.floor(now() / 1000);
  const groups = await Promise.all([
    look('nats', async () => `answers in ${await bus.nc.rtt()} ms`).then((finding) => [finding]),
    lookAtStreams(bus, streams),
    lookAtAddresses(settings),
    ...instances.map(({ name, sql }) =>
      lookAtQuestdb(instances.length === 1 ? 'questdb' : `questdb ${name}`, sql),
    ),
    lookAtClickhouse(clickhouse, readers.clickhouse, settings.schemasFolder),
    look('books', async () => booksText(account)).then((finding) => [finding]),
  ]);
  const findings = groups.flat();
  return { at, well: findings.every(({ ok }) => ok), findings };
};

/** Reads nothing before the first call. Throws a permanent Fault for unusable settings. */
export const createInspected = (deps: InspectedDeps): Inspected => {
  const { bus, instances, disk, settings, env, now } = deps;
  const meanings = new Map(settingDefinitions.map((definition) => [definition.env, definition.meaning]));
  let running: Promise<Examination> | undefined;
  return {
    questdb: instances,
    arrivals: createArrivals(bus, now),
    cardinality: createCardinalityReads(now),
    disk,
    settings: shownSettings(env).map((shown) => ({ ...shown, meaning: meanings.get(shown.setting) ?? '' })),
    receivers: receiversOf(settings),
    schemasFolder: settings.schemasFolder,
    maxRateDefault: settings.maxRateDefault,
    dimensionValuesMax: settings.metadata.dimensionValuesMax,
    examine: () => {
      running ??= examineAll(deps).finally(() => {
        running = undefined;
      });
      return running;
    },
  };
};
