import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { fileVariable } from '../../src/config/setting-texts.ts';
import { loadSettings, settingDefinitions } from '../../src/config/settings.ts';
import { versions } from '../../src/embedded/versions.ts';
import { definedMetrics } from '../../tools/docs/metrics.ts';
import { missingTool } from '../support/clients/builds.ts';
import { service } from '../support/deploy/compose.ts';
import { deployFolder } from '../support/deploy/dashboards.ts';
import {
  buildManifests,
  type ManifestReport,
  manifestsProgram,
  ofKind,
  type Pod,
  podsOf,
} from '../support/deploy/manifests.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';

const folder = join(deployFolder, 'kubernetes');
const overlays = readdirSync(join(folder, 'overlays'));
const missing = await missingTool('go');
const roles = ['ingress', 'transfer', 'metadata'] as const;
const settings = loadSettings({});

const reports = new Map<string, ManifestReport>();
const reportOf = (overlay: string): ManifestReport => {
  const found = reports.get(overlay);
  if (found === undefined) throw new Error(`no overlay ${overlay}`);
  return found;
};

const podOf = (pods: ReadonlyMap<string, Pod>, name: string) => {
  const pod = pods.get(name);
  if (pod === undefined) throw new Error(`no pod ${name}`);
  return { labels: pod.metadata.labels, spec: pod.spec, container: pod.spec.containers[0] };
};

const selector = z.object({
  matchLabels: z.record(z.string(), z.string()).default({}),
  matchExpressions: z
    .array(z.object({ key: z.string(), operator: z.literal('In'), values: z.array(z.string()) }))
    .default([]),
});

const selects = (chosen: z.output<typeof selector>, labels: Readonly<Record<string, string>>): boolean =>
  Object.entries(chosen.matchLabels).every(([key, value]) => labels[key] === value) &&
  chosen.matchExpressions.every(({ key, values }) => values.includes(labels[key] ?? ''));

const bytesOf = (quantity: string): number => {
  const [, digits = '', unit = ''] = /^(\d+)(Mi|Gi)$/.exec(quantity) ?? [];
  return Number(digits) * (unit === 'Gi' ? 2 ** 30 : 2 ** 20);
};

describe.skipIf(missing !== undefined)(`the manifests ${missing ?? ''}`, () => {
  beforeAll(async () => {
    await manifestsProgram();
    const places = [...overlays.map((overlay) => join('overlays', overlay)), 'nats'];
    const built = await buildManifests(...places.map((place) => join(folder, place)));
    places.forEach((place, index) => {
      const report = built[index];
      if (report !== undefined) reports.set(basename(place), report);
    });
  });

  it.each(overlays)('%s: every field is one of its API', (overlay) => {
    const { resources, problems } = reportOf(overlay);
    expect(problems).toEqual([]);
    expect(resources.length).toBeGreaterThan(15);
  });

  // The check itself: a misspelt field must not pass.
  it('a field that Kubernetes does not have is found', async () => {
    const copy = await tempFolder();
    cpSync(join(folder, 'base'), copy, { recursive: true });
    const path = join(copy, 'ingress.yaml');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace('terminationGracePeriodSeconds', 'terminationGraceSeconds'));
    const [report] = await buildManifests(copy);
    expect(report?.problems.join()).toContain('terminationGraceSeconds');
  });

  describe.each(overlays)('%s', (overlay) => {
    it('runs each role with arguments, ports and settings of the program', () => {
      const { resources } = reportOf(overlay);
      const known = new Set(
        settingDefinitions.flatMap((definition) => [definition.env, fileVariable(definition) ?? '']),
      );
      const pods = podsOf(resources);
      const ports = {
        ingress: {
          push: settings.ingress.pushPort,
          otlp: settings.ingress.otlpPort,
          ops: settings.ingress.opsPort,
        },
        transfer: { ops: settings.transfer.opsPort },
        metadata: { api: settings.metadata.apiPort, ops: settings.metadata.opsPort },
      };
      for (const role of [...roles, 'migrate']) {
        const { container } = podOf(pods, role);
        expect(container.args).toEqual([role]);
        for (const { configMapRef } of container.envFrom) {
          const map = ofKind(resources, 'ConfigMap').find(
            ({ metadata }) => metadata.name === configMapRef.name,
          );
          const names = Object.keys(map?.data ?? {});
          expect(names.length).toBeGreaterThan(3);
          expect(names.filter((name) => !known.has(name))).toEqual([]);
        }
      }
      for (const role of roles) {
        const { container, labels } = podOf(pods, role);
        const own = Object.fromEntries(
          container.ports.map(({ name, containerPort }) => [name, containerPort]),
        );
        expect(own).toEqual(ports[role]);
        expect(labels['tidemark/job']).toBe(`tidemark-${role}`);
        expect(container.readinessProbe?.httpGet).toEqual({ path: '/readyz', port: 'ops' });
        expect(container.livenessProbe?.httpGet).toEqual({ path: '/livez', port: 'ops' });
      }
    });

    // A drain that is cut short costs redeliveries; a receiver that is cut short costs answers.
    it('gives each role more time to end than it takes, and no right it does not need', () => {
      const { resources } = reportOf(overlay);
      const pods = podsOf(resources);
      const { metrics, traces } = loadPipelines(settings.pipelinesFolder);
      const drainSeconds =
        Math.max(metrics.publish.deadlineMs, traces.publish.deadlineMs, metrics.storeTimeoutMs) / 1000;
      for (const role of roles) {
        const { spec, container } = podOf(pods, role);
        const waitSeconds = container.lifecycle?.preStop.sleep.seconds ?? 0;
        expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(waitSeconds + drainSeconds + 10);
        expect(spec.securityContext.runAsUser).toBe(65532);
        expect(container.securityContext).toMatchObject({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(bytesOf(container.resources.limits.memory)).toBeGreaterThan(
          bytesOf(container.resources.requests.memory),
        );
      }
    });

    it('its services, budgets, policies and scalers meet pods and ports that there are', () => {
      const { resources } = reportOf(overlay);
      const pods = [...podsOf(resources).values()];
      const chosenBy = (chosen: z.output<typeof selector>): Pod[] => {
        const found = pods.filter(({ metadata }) => selects(chosen, metadata.labels));
        expect(found.length).toBeGreaterThan(0);
        return found;
      };
      const namesOf = (found: readonly Pod[]) =>
        found.flatMap(({ spec }) => spec.containers[0].ports.map(({ name }) => name));
      for (const { spec } of ofKind(resources, 'Service')) {
        const matchLabels = z.record(z.string(), z.string()).parse(spec['selector']);
        const ports = z.array(z.looseObject({ targetPort: z.string() })).parse(spec['ports']);
        const names = namesOf(chosenBy({ matchLabels, matchExpressions: [] }));
        expect(names).toEqual(expect.arrayContaining(ports.map(({ targetPort }) => targetPort)));
      }
      for (const { spec } of ofKind(resources, 'PodDisruptionBudget', 'PodMonitor')) {
        chosenBy(selector.parse(spec['selector']));
      }
      const rules = z.array(
        z.looseObject({ ports: z.array(z.looseObject({ port: z.union([z.string(), z.number()]) })) }),
      );
      for (const { spec } of ofKind(resources, 'NetworkPolicy')) {
        const names = namesOf(chosenBy(selector.parse(spec['podSelector'])));
        const named = rules
          .parse(spec['ingress'] ?? [])
          .flatMap(({ ports }) => ports.map(({ port }) => port));
        expect(names).toEqual(expect.arrayContaining(named));
      }
      const targets = ofKind(resources, 'HorizontalPodAutoscaler', 'ScaledObject').map(
        ({ spec }) => z.looseObject({ name: z.string() }).parse(spec['scaleTargetRef']).name,
      );
      expect(targets.toSorted()).toEqual(['ingress', 'transfer']);
      const protectedRoles = ofKind(resources, 'NetworkPolicy').map(({ metadata }) => metadata.name);
      expect(protectedRoles).toEqual(expect.arrayContaining([...roles, 'migrate', 'questdb']));
    });

    it('receivers reach no database', () => {
      const policy = ofKind(reportOf(overlay).resources, 'NetworkPolicy').find(
        ({ metadata }) => metadata.name === 'ingress',
      );
      expect(JSON.stringify(policy?.spec['egress'])).not.toMatch(/9000|8123|8812/);
    });

    it('none of it has a secret, and images have exact versions', () => {
      const { resources } = reportOf(overlay);
      expect(ofKind(resources, 'Secret')).toEqual([]);
      expect(JSON.stringify(resources)).not.toMatch(/:\/\/[^/"]*:[^/"]*@/);
      for (const { spec } of podsOf(resources).values()) {
        expect(spec.containers[0].image).toMatch(/^[\w./-]+:\d+\.\d+\.\d+$/);
      }
    });

    it('each QuestDB is guarded as in the compose stack, and has its passwords from a secret', () => {
      const { resources } = reportOf(overlay);
      const sets = [...podsOf(resources)].filter(([name]) => name.startsWith('questdb'));
      expect(sets.length).toBeGreaterThan(0);
      const { command = [], environment } = service('questdb');
      for (const [name, { metadata, spec }] of sets) {
        const [{ args, env, volumeMounts }] = spec.containers;
        const label = 'app.kubernetes.io/name';
        const own = args.map((each) => each.replaceAll('$(NAME)', metadata.labels[label] ?? ''));
        const hosts = (list: readonly string[]) =>
          list.find((each) => each.startsWith('-Dtidemark.http.hosts='));
        expect(hosts(own)?.split(/[=,]/)).toEqual(expect.arrayContaining([name, '127.0.0.1', 'localhost']));
        expect(own.filter((each) => each !== hosts(own))).toEqual(
          command.filter((each) => each !== hosts(command)),
        );
        const given = env.filter(({ name: variable }) => variable.startsWith('QDB_'));
        expect(given.map(({ name: variable }) => variable).toSorted()).toEqual(
          Object.keys(environment).toSorted(),
        );
        for (const { name: variable, value } of given) {
          if (variable.includes('PASSWORD')) expect(value).toBeUndefined();
          else expect(value).toBe(environment[variable]);
        }
        const mount = volumeMounts.find(({ mountPath }) => mountPath === '/guard');
        const map = spec.volumes.find((volume) => volume.name === mount?.name)?.configMap?.name;
        const jar = ofKind(resources, 'ConfigMap').find(({ metadata: { name: each } }) => each === map);
        const bytes = z.object({ 'questdb-guard.jar': z.string() }).parse(jar?.['binaryData']);
        expect(Buffer.from(bytes['questdb-guard.jar'], 'base64')).toEqual(
          readFileSync(join(deployFolder, 'questdb/questdb-guard.jar')),
        );
      }
    });

    // What a worker is scaled by must exist, or it is never scaled.
    it('transfer is scaled by figures and consumers that there are', async () => {
      const [scaler] = ofKind(reportOf(overlay).resources, 'ScaledObject');
      const triggers = z
        .array(z.object({ type: z.string(), metadata: z.record(z.string(), z.string()) }).loose())
        .parse(scaler?.spec['triggers']);
      expect(triggers.length).toBe(2);
      const names = new Set((await definedMetrics('metadata')).map(({ name }) => name));
      const { streams } = loadPipelines(settings.pipelinesFolder);
      for (const { type, metadata } of triggers) {
        if (type === 'prometheus') {
          const asked = metadata['query']?.match(/tidemark_\w+/g) ?? [];
          expect(asked.length).toBeGreaterThan(0);
          expect(asked.filter((name) => !names.has(name))).toEqual([]);
        } else {
          const stream = streams.find(({ name }) => name === metadata['stream']);
          expect(stream?.consumer?.name).toBe(metadata['consumer']);
        }
      }
    });
  });

  // Two instances under one name would be one Service before both.
  it('two-questdb: each QuestDB has its own disk, service and policy, and the roles have both addresses', () => {
    const { resources } = reportOf('two-questdb');
    const labels = (chosen: unknown): string | undefined =>
      selector.parse(chosen).matchLabels['app.kubernetes.io/name'];
    const named = (kind: string): [string, string | undefined][] =>
      ofKind(resources, kind)
        .filter(({ metadata }) => metadata.name.startsWith('questdb'))
        .map(({ metadata, spec }): [string, string | undefined] => {
          const chosen = spec['podSelector'] ?? spec['selector'];
          return [metadata.name, labels(kind === 'Service' ? { matchLabels: chosen } : chosen)];
        })
        .sort(([a], [b]) => a.localeCompare(b));
    const both = [
      ['questdb', 'questdb'],
      ['questdb-b', 'questdb-b'],
    ];
    expect([named('StatefulSet'), named('Service'), named('NetworkPolicy')]).toEqual([both, both, both]);
    const maps = ofKind(resources, 'ConfigMap');
    const settingsMap = maps.find(({ metadata }) => metadata.name.startsWith('tidemark-settings'));
    expect(settingsMap?.data?.['TIDEMARK_QUESTDB_URLS_FILE']).toBe('/etc/tidemark/engines/questdb-urls');
    const sets = ofKind(resources, 'StatefulSet').map(({ spec }) => spec['serviceName']);
    expect(sets.toSorted()).toEqual(['questdb', 'questdb-b']);
  });

  it('NATS is reached by the roles, its figures by monitoring and KEDA alone', () => {
    const { resources, problems } = reportOf('nats');
    expect(problems).toEqual([]);
    const [policy] = ofKind(resources, 'NetworkPolicy');
    expect(policy?.metadata.namespace).toBe('nats');
    const peers = z.looseObject({
      from: z.array(
        z.looseObject({ namespaceSelector: selector.optional(), podSelector: selector.optional() }),
      ),
      ports: z.tuple([z.looseObject({ port: z.number() })]),
    });
    const rules = z.array(peers).parse(policy?.spec['ingress']);
    const allowed = (port: number, namespace: string, name: string): boolean =>
      rules.some(
        ({ from, ports: [own] }) =>
          own.port === port &&
          from.some(
            ({ namespaceSelector, podSelector }) =>
              (namespaceSelector === undefined
                ? namespace === 'nats'
                : selects(namespaceSelector, { 'kubernetes.io/metadata.name': namespace })) &&
              (podSelector === undefined || selects(podSelector, { 'app.kubernetes.io/name': name })),
          ),
      );
    for (const role of roles) expect(allowed(4222, 'tidemark', role), role).toBe(true);
    expect(allowed(4222, 'tidemark', 'questdb')).toBe(false);
    expect(allowed(4222, 'default', 'ingress')).toBe(false);
    expect(allowed(6222, 'nats', 'nats')).toBe(true);
    expect(allowed(6222, 'tidemark', 'ingress')).toBe(false);
    for (const namespace of ['monitoring', 'keda']) expect(allowed(8222, namespace, 'any')).toBe(true);
    expect(allowed(8222, 'tidemark', 'ingress')).toBe(false);
  });

  // Whose secret a pod has is what it may do.
  it('each role has the secret of its own user of NATS, and no other pod has one', () => {
    const { resources } = reportOf('small');
    const secrets = [...podsOf(resources)].map(([name, { spec }]): [string, string[]] => [
      name,
      spec.volumes.flatMap(({ secret }) =>
        secret?.secretName.startsWith('tidemark-nats') === true ? [secret.secretName] : [],
      ),
    ]);
    expect(Object.fromEntries(secrets)).toMatchObject({
      ingress: ['tidemark-nats-ingress'],
      transfer: ['tidemark-nats-transfer'],
      metadata: ['tidemark-nats-metadata'],
    });
    expect(secrets.flatMap(([, names]) => names)).toHaveLength(3);
  });

  it.each(['small', 'large'])('the values of NATS (%s) hold the streams and the largest message', (size) => {
    const values = z
      .looseObject({
        container: z.looseObject({
          image: z.object({ tag: z.string() }),
        }),
        config: z.looseObject({
          jetstream: z.looseObject({ fileStore: z.looseObject({ maxSize: z.string() }) }),
          // The users are in values of their own, which take part in each.
          merge: z.strictObject({ max_payload: z.number() }),
        }),
      })
      .parse(parse(readFileSync(join(folder, `values/nats-${size}.yaml`), 'utf8')));
    expect(values.container.image.tag).toBe(`${versions.nats}-alpine`);
    expect(values.config.merge.max_payload).toBe(8 * 2 ** 20);
    const { streams } = loadPipelines(settings.pipelinesFolder);
    const needed = streams.reduce((sum, { bytesMax }) => sum + bytesMax, 0);
    expect(bytesOf(values.config.jetstream.fileStore.maxSize)).toBeGreaterThan(needed);
  });
});
