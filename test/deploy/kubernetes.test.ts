import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { fileVariable } from '../../src/config/setting-texts.ts';
import { loadSettings, settingDefinitions } from '../../src/config/settings.ts';
import { versions } from '../../src/embedded/versions.ts';
import { definedMetrics } from '../../tools/docs/metrics.ts';
import { missingTool } from '../support/clients/builds.ts';
import { syncSeconds } from '../support/deploy/autoscaler.ts';
import { service } from '../support/deploy/compose.ts';
import { alarms, dashboards, deployFolder } from '../support/deploy/dashboards.ts';
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
const pipelineFiles = readdirSync(settings.pipelinesFolder)
  .filter((file) => file !== 'kustomization.yaml')
  .sort();

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
    const places = [
      ...overlays.map((overlay) => join('overlays', overlay)),
      'nats',
      'clickhouse-single',
      'restore',
    ];
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

  it.each(['clickhouse-single', 'restore'])('%s: every field is one of its API', (place) => {
    const { resources, problems } = reportOf(place);
    expect(problems).toEqual([]);
    expect(podsOf(resources).size).toBeGreaterThan(0);
  });

  it('the commands of a restore in docs/kubernetes.md apply each of its objects, and before a Job what the Job names', () => {
    const guide = readFileSync(join(deployFolder, '../docs/kubernetes.md'), 'utf8');
    const chosen = [
      ...guide.matchAll(/^kubectl apply -k deploy\/kubernetes\/restore -l '?([^'\n]+)'?$/gm),
    ].map(([, selector]) => selector ?? '');
    const placeOf = ({ 'tidemark/step': step }: Readonly<Record<string, string>>): number =>
      chosen.indexOf(step === undefined ? '!tidemark/step' : `tidemark/step=${step}`);
    const { resources } = reportOf('restore');
    for (const { kind, metadata } of resources)
      expect(placeOf(metadata.labels), `${kind} ${metadata.name}`).toBeGreaterThanOrEqual(
        kind === 'Job' ? 1 : 0,
      );
    expect(
      resources.some(({ kind, metadata }) => kind === 'ConfigMap' && placeOf(metadata.labels) === 0),
    ).toBe(true);
  });

  it('the overlay that docs/kubernetes.md has the reader write names image and registry everywhere, and takes a changed file', async () => {
    const copy = await tempFolder();
    for (const each of ['deploy', 'pipelines'])
      cpSync(join(deployFolder, '..', each), join(copy, each), { recursive: true });
    const guide = readFileSync(join(deployFolder, '../docs/kubernetes.md'), 'utf8');
    const [, text = ''] = /^```yaml\n(.*?)^```/ms.exec(guide) ?? [];
    mkdirSync(join(copy, 'cluster'));
    writeFileSync(join(copy, 'cluster/kustomization.yaml'), text);
    const streams = readFileSync(join(copy, 'pipelines/streams.yaml'), 'utf8').replace('8GiB', '20GiB');
    writeFileSync(join(copy, 'cluster/streams.yaml'), streams);
    const [report] = await buildManifests(join(copy, 'cluster'));
    expect(report?.problems).toEqual([]);
    const pods = podsOf(report?.resources ?? []);
    for (const name of [...roles, 'migrate', 'backup'])
      expect(podOf(pods, name).container.image).toBe('registry.example.com/tidemark:0.1.0');
    const maps = ofKind(report?.resources ?? [], 'ConfigMap');
    const own = maps.find(({ metadata: { name } }) => name.startsWith('tidemark-pipelines'));
    expect(own?.data?.['streams.yaml']).toBe(streams);
    expect(Object.keys(own?.data ?? {}).toSorted()).toEqual(pipelineFiles);
  });

  // The check itself: a misspelt field must not pass.
  it('a field that Kubernetes does not have is found', async () => {
    const copy = await tempFolder();
    for (const each of ['deploy', 'pipelines'])
      cpSync(join(deployFolder, '..', each), join(copy, each), { recursive: true });
    const path = join(copy, 'deploy/kubernetes/base/ingress.yaml');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace('terminationGracePeriodSeconds', 'terminationGraceSeconds'));
    const [report] = await buildManifests(dirname(path));
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
          grpc: settings.ingress.grpcPort,
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
          // A node may be lost here, on one machine it is all of it.
          else if (variable === 'QDB_CAIRO_COMMIT_MODE') expect(value).toBe('sync');
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

    // What a worker is scaled by must exist, or it is never scaled. test/deploy/scaling.test.ts asks the queries.
    it('transfer is scaled by figures that there are, and stays as it is where they are not', async () => {
      const [scaler] = ofKind(reportOf(overlay).resources, 'ScaledObject');
      const triggers = z
        .array(
          z.looseObject({
            type: z.literal('prometheus'),
            metadata: z.looseObject({ query: z.string(), ignoreNullValues: z.literal('false') }),
          }),
        )
        .min(1)
        .parse(scaler?.spec['triggers']);
      const known = await Promise.all((['metadata', 'transfer'] as const).map(definedMetrics));
      const names = new Set(known.flat().map(({ name }) => name));
      for (const { metadata } of triggers) {
        const asked = metadata.query.match(/tidemark_\w+/g) ?? [];
        expect(asked.length).toBeGreaterThan(0);
        expect(asked.filter((name) => !names.has(name))).toEqual([]);
      }
      expect(scaler?.spec['fallback']).toMatchObject({ behavior: 'currentReplicasIfHigher' });
      // Whether a store takes something shows in three scrapes.
      const [monitor] = ofKind(reportOf(overlay).resources, 'PodMonitor');
      expect(JSON.stringify(monitor?.spec)).toContain(`"interval":"${syncSeconds}s"`);
      expect(triggers[0]?.metadata.query).toContain(`[${3 * syncSeconds}s]`);
    });

    // Without pods of an engine that is away, a node could not be drained for as long.
    it('a pod that is not ready keeps no node from a drain, and one that is drained is no outage', () => {
      const { resources } = reportOf(overlay);
      const budgets = ofKind(resources, 'PodDisruptionBudget');
      expect(budgets.map(({ metadata }) => metadata.name).toSorted()).toEqual(roles.toSorted());
      for (const { spec } of budgets) expect(spec['unhealthyPodEvictionPolicy']).toBe('AlwaysAllow');
      const [receivers] = ofKind(resources, 'HorizontalPodAutoscaler');
      expect(receivers?.spec['minReplicas']).toBeGreaterThan(1);
    });

    it('the roles and their jobs read the pipelines from a ConfigMap with all of their files', () => {
      const { resources } = reportOf(overlay);
      const pods = podsOf(resources);
      const maps = ofKind(resources, 'ConfigMap');
      const own = maps.find(({ metadata: { name } }) => name.startsWith('tidemark-pipelines'));
      expect(Object.keys(own?.data ?? {}).toSorted()).toEqual(pipelineFiles);
      const folderSetting = maps.find(({ metadata: { name } }) => name.startsWith('tidemark-settings'))?.data;
      for (const name of [...roles, 'migrate', 'backup']) {
        const { spec, container } = podOf(pods, name);
        const mount = container.volumeMounts.find(
          ({ mountPath }) => mountPath === folderSetting?.['TIDEMARK_PIPELINES'],
        );
        const volume = spec.volumes.find((each) => each.name === mount?.name);
        expect(volume?.configMap?.name, name).toBe(own?.metadata.name);
      }
    });

    it('Prometheus and Grafana of kube-prometheus-stack find the figures, every alarm and every dashboard', () => {
      const { resources } = reportOf(overlay);
      const label = { release: 'kube-prometheus-stack' };
      const found = ofKind(resources, 'PodMonitor', 'PrometheusRule');
      for (const { metadata } of found) expect(metadata.labels).toMatchObject(label);
      const groups = z.array(z.looseObject({ rules: z.array(z.looseObject({ alert: z.string() })) }));
      const ruled = ofKind(resources, 'PrometheusRule').flatMap(({ spec }) =>
        groups.parse(spec['groups']).flatMap(({ rules }) => rules.map(({ alert }) => alert)),
      );
      expect(ruled).toEqual(alarms().map(({ alert }) => alert));
      const shown = ofKind(resources, 'ConfigMap').filter(
        ({ metadata: { labels } }) => labels['grafana_dashboard'] === '1',
      );
      const files = shown.flatMap(({ data }) => Object.entries(data ?? {}));
      expect(files.map(([file]) => file).toSorted()).toEqual([...dashboards().keys()].toSorted());
      for (const [file, text] of files)
        expect(text).toBe(readFileSync(join(deployFolder, 'grafana/dashboards', file), 'utf8'));
      // `kubectl apply` writes an object into an annotation of its own, which has a limit.
      for (const object of [...shown, ...found]) expect(JSON.stringify(object).length).toBeLessThan(262_144);
    });

    it('a backup reads the files of QuestDB where its pod is, writes to a volume of its own, and is let in everywhere', () => {
      const { resources } = reportOf(overlay);
      const { spec, container } = podOf(podsOf(resources), 'backup');
      const claims = new Map(
        spec.volumes.flatMap(({ name, persistentVolumeClaim: claim }) =>
          claim === undefined ? [] : [[name, claim.claimName] as const],
        ),
      );
      const mounts = container.volumeMounts.filter(({ name }) => claims.has(name));
      expect(mounts.map(({ name, mountPath, readOnly }) => [claims.get(name), mountPath, readOnly])).toEqual([
        ['backup', '/backup', false],
        ['data-questdb-0', '/questdb', true],
      ]);
      const beside = podOf(podsOf(resources), 'questdb').labels['app.kubernetes.io/name'];
      expect(JSON.stringify(spec)).toContain(`{"matchLabels":{"app.kubernetes.io/name":"${beside}"}}`);
      const policy = (name: string) => {
        const all = [...resources, ...reportOf('nats').resources];
        return JSON.stringify(ofKind(all, 'NetworkPolicy').find((each) => each.metadata.name === name)?.spec);
      };
      for (const name of ['questdb', 'nats']) expect(policy(name)).toContain('"backup"');
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

  // A job that mounts the disk of the other one would copy the wrong tables, each night without an error.
  it('two-questdb: the second QuestDB has a backup of its own, where its disk is, at a time of its own', () => {
    const { resources } = reportOf('two-questdb');
    const { spec, container } = podOf(podsOf(resources), 'backup-b');
    const claims = spec.volumes.flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? []);
    expect(claims).toEqual(['backup-b', 'data-questdb-b-0']);
    const made = ofKind(resources, 'PersistentVolumeClaim').map(({ metadata }) => metadata.name);
    expect(made).toEqual(expect.arrayContaining(['backup', 'backup-b']));
    expect(container.args).toContain('--questdb-root=b=/questdb');
    expect(container.args.join(' ')).not.toMatch(/clickhouse/);
    expect(JSON.stringify(spec)).toContain('{"matchLabels":{"app.kubernetes.io/name":"questdb-b"}}');
    const settingsMaps = podOf(podsOf(resources), 'backup').container.envFrom;
    expect(container.envFrom).toEqual(settingsMaps);
    const starts = ofKind(resources, 'CronJob').map(({ spec: { schedule, jobTemplate } }) => {
      const [minute, hour] = String(schedule).split(' ').map(Number);
      const { spec: job } = z
        .looseObject({ spec: z.looseObject({ activeDeadlineSeconds: z.number() }) })
        .parse(jobTemplate);
      return { from: (hour ?? 0) * 3_600 + (minute ?? 0) * 60, seconds: job.activeDeadlineSeconds };
    });
    const [first, second] = starts.toSorted((left, right) => left.from - right.from);
    expect(starts).toHaveLength(2);
    // Copies of one stream at a time.
    expect((first?.from ?? 0) + (first?.seconds ?? 0)).toBeLessThanOrEqual(second?.from ?? 0);
    expect((second?.from ?? 0) + (second?.seconds ?? 0)).toBeLessThanOrEqual((first?.from ?? 0) + 86_400);
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
      backup: ['tidemark-nats-operator'],
    });
    expect(secrets.flatMap(([, names]) => names)).toHaveLength(4);
  });

  it.each(['small', 'large'])('the values of NATS (%s) hold the streams and the largest message', (size) => {
    const values = z
      .looseObject({
        container: z.looseObject({
          image: z.object({ tag: z.string() }),
          merge: z.object({
            resources: z.object({
              requests: z.object({ cpu: z.string(), memory: z.string() }),
              limits: z.object({ memory: z.string() }),
            }),
            livenessProbe: z.looseObject({ httpGet: z.object({ path: z.string(), port: z.string() }) }),
          }),
          env: z.looseObject({ GOMEMLIMIT: z.string() }),
        }),
        config: z.looseObject({
          jetstream: z.looseObject({
            fileStore: z.looseObject({ maxSize: z.string() }),
            merge: z.object({ sync_interval: z.string() }).optional(),
          }),
          // The users are in values of their own, which take part in each.
          merge: z.strictObject({ max_payload: z.number() }),
        }),
      })
      .parse(parse(readFileSync(join(folder, `values/nats-${size}.yaml`), 'utf8')));
    const { resources, livenessProbe: liveness } = values.container.merge;
    // Nine tenths, so that Go collects before the kernel kills.
    const [, mebibytes = ''] = /^(\d+)MiB$/.exec(values.container.env.GOMEMLIMIT) ?? [];
    expect(Number(mebibytes) * 2 ** 20).toBeLessThan(0.91 * bytesOf(resources.limits.memory));
    expect(resources.requests.memory).toBe(resources.limits.memory);
    // With a query nats-server leaves out write errors.
    expect(liveness.httpGet).toEqual({ path: '/healthz', port: 'monitor' });
    const copies = size === 'large' ? 3 : 1;
    if (copies === 1) expect(values.config.jetstream.merge?.sync_interval).toBe('always');

    expect(values.container.image.tag).toBe(`${versions.nats}-alpine`);
    expect(values.config.merge.max_payload).toBe(8 * 2 ** 20);
    const { streams } = loadPipelines(settings.pipelinesFolder);
    const needed = streams.reduce((sum, { bytesMax }) => sum + bytesMax, 0);
    expect(bytesOf(values.config.jetstream.fileStore.maxSize)).toBeGreaterThan(needed);
  });
});
