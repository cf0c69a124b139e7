import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';

const values = resolve(import.meta.dirname, '../../../deploy/kubernetes/values');

const valuesOfNats = z.looseObject({
  container: z.looseObject({
    image: z.looseObject({ tag: z.string() }).optional(),
    env: z.record(z.string(), z.unknown()),
    merge: z.record(z.string(), z.unknown()).optional(),
  }),
  config: z.looseObject({
    jetstream: z
      .looseObject({
        merge: z.record(z.string(), z.unknown()),
        fileStore: z.looseObject({ maxSize: z.string(), pvc: z.looseObject({ size: z.string() }) }),
      })
      .optional(),
    merge: z.record(z.string(), z.unknown()),
  }),
});

const readValues = (file: string): z.output<typeof valuesOfNats> =>
  valuesOfNats.parse(parse(readFileSync(join(values, file), 'utf8')));

/** A value as nats-server reads it, with the chart's mark of a variable. */
const natsText = (value: unknown): string => {
  if (Array.isArray(value)) return `[\n${value.map((each) => `${natsText(each)}\n`).join('')}]`;
  if (typeof value === 'object' && value !== null)
    return `{\n${Object.entries(value)
      .map(([name, each]) => `${name}: ${natsText(each)}\n`)
      .join('')}}`;
  const variable = /^<< (\$\w+) >>$/.exec(String(value))?.[1];
  return variable ?? (typeof value === 'string' ? JSON.stringify(value) : String(value));
};

const text = (objects: readonly unknown[]): string => objects.map((each) => stringify(each)).join('---\n');

/** What NATS's chart makes of the values of the repository, as far as the line uses it: a server with its service. */
export const natsObjects = (): string => {
  const small = readValues('nats-small.yaml');
  const users = readValues('nats-users.yaml');
  const { jetstream, merge } = small.config;
  const configuration = {
    ...{ port: 4222, http_port: 8222, server_name: '<< $POD_NAME >>', ...merge, ...users.config.merge },
    jetstream: {
      ...{
        store_dir: '/data',
        max_memory_store: 67_108_864,
        max_file_store: 60_129_542_144,
        ...jetstream?.merge,
      },
    },
  };
  const environment = Object.entries({ ...small.container.env, ...users.container.env }).map(
    ([name, value]) =>
      typeof value === 'object' && value !== null ? { name, ...value } : { name, value: String(value) },
  );
  const labels = { 'app.kubernetes.io/name': 'nats' };
  const metadata = { name: 'nats', namespace: 'nats' };
  const health = (path: string, more: object) => ({ httpGet: { path, port: 'monitor' }, ...more });
  const container = {
    // Limits and the security of its container, as in the values; requests that the node has.
    ...small.container.merge,
    ...{ name: 'nats', image: `nats:${small.container.image?.tag}`, command: ['nats-server'] },
    args: ['--config', '/etc/nats-config/nats.conf'],
    env: [...environment, { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
    ports: [
      { name: 'nats', containerPort: 4222 },
      { name: 'monitor', containerPort: 8222 },
    ],
    resources: { requests: { cpu: '50m', memory: '256Mi' }, limits: { memory: '2Gi' } },
    startupProbe: health('/healthz', { failureThreshold: 90 }),
    livenessProbe: health('/healthz', { initialDelaySeconds: 10, periodSeconds: 30 }),
    readinessProbe: health('/healthz?js-server-only=true', {}),
    volumeMounts: [
      { name: 'config', mountPath: '/etc/nats-config' },
      { name: 'nats-js', mountPath: '/data' },
    ],
  };
  const storage = jetstream?.fileStore.pvc.size;
  return text([
    {
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata },
      data: { 'nats.conf': natsText(configuration).slice(1, -1) },
    },
    {
      ...{ apiVersion: 'v1', kind: 'Service', metadata },
      spec: {
        selector: labels,
        ports: [
          { name: 'nats', port: 4222 },
          { name: 'monitor', port: 8222 },
        ],
      },
    },
    {
      ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata },
      spec: {
        ...{ serviceName: 'nats', selector: { matchLabels: labels } },
        template: {
          metadata: { labels },
          spec: { containers: [container], volumes: [{ name: 'config', configMap: { name: 'nats' } }] },
        },
        volumeClaimTemplates: [
          {
            metadata: { name: 'nats-js' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
          },
        ],
      },
    },
  ]);
};

/** Volumes of the node for these claims, by name and GiB. A storage class of a cloud makes them by itself. */
export const volumeObjects = (folder: string, volumes: Readonly<Record<string, number>>): string =>
  text([
    {
      ...{
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        provisioner: 'kubernetes.io/no-provisioner',
      },
      metadata: {
        name: 'node',
        annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
      },
      volumeBindingMode: 'WaitForFirstConsumer',
    },
    ...Object.entries(volumes).map(([claim, gibibytes]) => {
      const [namespace = '', name = ''] = claim.split('/');
      const path = join(folder, name);
      mkdirSync(path, { recursive: true });
      return {
        ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: `${namespace}-${name}` } },
        spec: {
          ...{ capacity: { storage: `${gibibytes}Gi` }, accessModes: ['ReadWriteOnce'], local: { path } },
          ...{ storageClassName: 'node', persistentVolumeReclaimPolicy: 'Retain' },
          claimRef: { namespace, name },
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['node1'] }] },
              ],
            },
          },
        },
      };
    }),
  ]);

/** The names of services, at the address that the kubelet gives to pods. */
export const dnsObjects = (): string => {
  const metadata = { name: 'dns', namespace: 'kube-system' };
  const labels = { app: 'dns' };
  const corefile =
    '.:53 {\n  errors\n  ready\n  cache 5\n  kubernetes cluster.local in-addr.arpa ip6.arpa {\n    pods insecure\n    ttl 5\n  }\n}\n';
  return text([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      ...{
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'dns' },
      },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', ...metadata }],
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { Corefile: corefile } },
    {
      ...{ apiVersion: 'v1', kind: 'Service', metadata },
      spec: {
        ...{ clusterIP: '10.96.0.10', selector: labels },
        ports: [
          { name: 'udp', port: 53, protocol: 'UDP' },
          { name: 'tcp', port: 53, protocol: 'TCP' },
        ],
      },
    },
    {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            ...{ serviceAccountName: 'dns', dnsPolicy: 'Default' },
            containers: [
              {
                ...{ name: 'dns', image: 'tidemark-stand-in/dns', imagePullPolicy: 'Never' },
                args: ['-conf', '/etc/dns/Corefile'],
                volumeMounts: [{ name: 'config', mountPath: '/etc/dns' }],
                readinessProbe: { httpGet: { path: '/ready', port: 8181 } },
              },
            ],
            volumes: [{ name: 'config', configMap: { name: 'dns' } }],
          },
        },
      },
    },
  ]);
};
