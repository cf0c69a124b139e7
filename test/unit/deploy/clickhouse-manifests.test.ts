import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadSettings } from '../../../src/config/settings.ts';
import { readerLimits } from '../../../src/embedded/clickhouse-config.ts';
import { versions } from '../../../src/embedded/versions.ts';

// The operator's own schema comes with no package: this holds what is used of it against itself and against the program.
const folder = resolve(import.meta.dirname, '../../../deploy/kubernetes');
const read = <T>(file: string, schema: z.ZodType<T>): T =>
  schema.parse(parse(readFileSync(join(folder, file), 'utf8')));

const setting = z.union([z.string(), z.number()]);
const settings = z.record(z.string().regex(/^[\w/]+$/), setting);
const podTemplates = z.array(
  z.strictObject({
    name: z.string(),
    podDistribution: z.array(z.strictObject({ type: z.string(), topologyKey: z.string() })).optional(),
    spec: z.strictObject({
      securityContext: z.looseObject({ runAsNonRoot: z.literal(true), fsGroup: z.literal(101) }),
      affinity: z.looseObject({}).optional(),
      enableServiceLinks: z.literal(false),
      containers: z.tuple([
        z.strictObject({ name: z.string(), image: z.string(), resources: z.looseObject({}) }),
      ]),
    }),
  }),
);
const templates = z.strictObject({
  podTemplates,
  volumeClaimTemplates: z.array(z.strictObject({ name: z.string(), spec: z.looseObject({}) })),
});
const chosen = z.strictObject({ podTemplate: z.string(), dataVolumeClaimTemplate: z.string() });
const metadata = z.strictObject({ name: z.string() });

const keeper = read(
  'clickhouse/keeper.yaml',
  z.strictObject({
    apiVersion: z.literal('clickhouse-keeper.altinity.com/v1'),
    kind: z.literal('ClickHouseKeeperInstallation'),
    metadata,
    spec: z.strictObject({
      configuration: z.strictObject({
        clusters: z.tuple([
          z.strictObject({ name: z.string(), layout: z.strictObject({ replicasCount: z.int() }) }),
        ]),
        settings,
      }),
      defaults: z.strictObject({ templates: chosen }),
      templates,
    }),
  }),
);

const clickhouse = read(
  'clickhouse/clickhouse.yaml',
  z.strictObject({
    apiVersion: z.literal('clickhouse.altinity.com/v1'),
    kind: z.literal('ClickHouseInstallation'),
    metadata,
    spec: z.strictObject({
      configuration: z.strictObject({
        zookeeper: z.strictObject({
          nodes: z.tuple([z.strictObject({ host: z.string(), port: z.int() })]),
        }),
        clusters: z.tuple([
          z.strictObject({
            name: z.string(),
            layout: z.strictObject({ shardsCount: z.int(), replicasCount: z.int() }),
            templates: chosen,
          }),
        ]),
        profiles: settings,
        users: z.record(z.string(), z.union([setting, z.array(z.string())])),
        settings,
      }),
      defaults: z.strictObject({ templates: z.strictObject({ serviceTemplate: z.string() }) }),
      templates: templates.extend({
        serviceTemplates: z.tuple([
          z.strictObject({
            name: z.string(),
            spec: z.strictObject({
              type: z.literal('ClusterIP'),
              sessionAffinity: z.literal('ClientIP'),
              sessionAffinityConfig: z.strictObject({
                clientIP: z.strictObject({ timeoutSeconds: z.int() }),
              }),
              ports: z.array(z.strictObject({ name: z.string(), port: z.int() })),
            }),
          }),
        ]),
      }),
    }),
  }),
);

const namesOf = (list: readonly { readonly name: string }[]): string[] => list.map(({ name }) => name);

it('the replicas find the Keepers, and both installations the templates that they name', () => {
  const { configuration, templates: own } = clickhouse.spec;
  const [node] = configuration.zookeeper.nodes;
  expect(node.host).toBe(`keeper-${keeper.metadata.name}`);
  expect(String(node.port)).toBe(keeper.spec.configuration.settings['keeper_server/tcp_port']);
  const uses = [
    { choice: configuration.clusters[0].templates, has: own },
    { choice: keeper.spec.defaults.templates, has: keeper.spec.templates },
  ];
  for (const { choice, has } of uses) {
    expect(namesOf(has.podTemplates)).toEqual([choice.podTemplate]);
    expect(namesOf(has.volumeClaimTemplates)).toEqual([choice.dataVolumeClaimTemplate]);
  }
});

// The guard compares with what one server holds: rows on another shard would be stored a second time.
it('there is one shard, more than one replica, an odd number of Keepers, and a quorum for each insert', () => {
  const { clusters, profiles, users } = clickhouse.spec.configuration;
  expect(clusters[0].layout).toEqual({ shardsCount: 1, replicasCount: 3 });
  expect(keeper.spec.configuration.clusters[0].layout.replicasCount % 2).toBe(1);
  expect(profiles['tidemark/insert_quorum']).toBe('auto');
  expect(users['tidemark/profile']).toBe('tidemark');
  expect(Number(profiles['tidemark/insert_quorum_timeout'])).toBeLessThan(20_000);
});

// The guard waits until a replica has the rows of the others, and then compares with that one: both go by this service.
it('all connections of a process reach one replica', () => {
  const { defaults, templates: own } = clickhouse.spec;
  const [{ name, spec }] = own.serviceTemplates;
  expect(defaults.templates.serviceTemplate).toBe(name);
  // The longest that Kubernetes knows, counted from the last connection.
  expect(spec.sessionAffinityConfig.clientIP.timeoutSeconds).toBe(86_400);
  expect(spec.ports).toContainEqual({ name: 'http', port: 8123 });
});

it('its cluster is the one for which the large overlay has the tables made', () => {
  const overlay = read(
    'overlays/large/kustomization.yaml',
    z.looseObject({
      configMapGenerator: z.array(z.looseObject({ literals: z.array(z.string()).default([]) })),
    }),
  );
  const literals = overlay.configMapGenerator.flatMap((map) => map.literals);
  const variables = Object.fromEntries(literals.map((literal) => literal.split('=')));
  expect(loadSettings(variables).clickhouse.cluster).toBe(clickhouse.spec.configuration.clusters[0].name);
});

it('has a user that reads, within the limits that the embedded one has', () => {
  const { profiles, users } = clickhouse.spec.configuration;
  const limits = Object.entries(readerLimits).flatMap(([name, max]) => [
    [`reader/${name}`, String(max)],
    [`reader/constraints/${name}/min`, '1'],
    [`reader/constraints/${name}/max`, String(max)],
  ]);
  const own = Object.entries(profiles).filter(([name]) => name.startsWith('reader/'));
  expect(Object.fromEntries(own)).toEqual({ 'reader/readonly': '2', ...Object.fromEntries(limits) });
  expect(users).toMatchObject({
    'readonly/profile': 'reader',
    'readonly/grants/query': ['GRANT SHOW, SELECT, dictGet ON *.*'],
  });
  const compose = readFileSync(join(folder, '../clickhouse/users.xml'), 'utf8');
  for (const [name, max] of Object.entries(readerLimits)) {
    expect(compose).toContain(`<${name}>${max}</${name}>`);
    expect(compose).toContain(`<${name}><min>1</min><max>${max}</max></${name}>`);
  }
});

it('none of it has a secret, and images have the tested version', () => {
  const { users } = clickhouse.spec.configuration;
  expect(Object.keys(users).filter((name) => /(?<!k8s_secret_)password/.test(name))).toEqual([]);
  for (const { spec } of [clickhouse, keeper])
    for (const { spec: pod } of spec.templates.podTemplates)
      expect(pod.containers[0].image).toMatch(new RegExp(`:${versions.clickhouse}\\.\\d+\\.\\d+$`));
});
