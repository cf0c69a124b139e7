import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { missingTool } from '../support/clients/builds.ts';
import { deployFolder } from '../support/deploy/dashboards.ts';
import {
  buildManifests,
  type ManifestReport,
  manifestsProgram,
  ofKind,
  podsOf,
} from '../support/deploy/manifests.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';

const missing = await missingTool('go');

// What docs/kubernetes.md has the reader add to an overlay of their own.
describe.skipIf(missing !== undefined)(`an overlay of one's own ${missing ?? ''}`, () => {
  beforeAll(async () => void (await manifestsProgram()));

  /** `small` in a folder of an operator, with more in its kustomization. */
  const buildOwn = async (more: string): Promise<ManifestReport> => {
    const copy = await tempFolder();
    for (const each of ['deploy', 'pipelines'])
      cpSync(join(deployFolder, '..', each), join(copy, each), { recursive: true });
    mkdirSync(join(copy, 'cluster'));
    const head =
      'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: tidemark\nresources: [../deploy/kubernetes/overlays/small]\n';
    writeFileSync(join(copy, 'cluster/kustomization.yaml'), head + more);
    const [report] = await buildManifests(join(copy, 'cluster'));
    if (report === undefined) throw new Error('nothing was built');
    expect(report.problems).toEqual([]);
    return report;
  };

  /** A block of docs/kubernetes.md by what it begins with. */
  const guideBlock = (begins: string): string => {
    const guide = readFileSync(join(deployFolder, '../docs/kubernetes.md'), 'utf8');
    const blocks = [...guide.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = '']) => text);
    const found = blocks.find((text) => text.startsWith(begins));
    if (found === undefined) throw new Error(`docs/kubernetes.md has no block ${begins}`);
    return found;
  };

  it('images by digest, as docs/kubernetes.md has them, are in every pod', async () => {
    const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
    const { resources } = await buildOwn(guideBlock('images:').replaceAll('sha256:<digest>', digest));
    for (const [name, { spec }] of podsOf(resources))
      expect(spec.containers[0].image.endsWith(`@${digest}`), name).toBe(true);
  });

  const route = z.looseObject({
    hostnames: z.tuple([z.string()]),
    parentRefs: z.tuple([z.object({ name: z.string(), sectionName: z.string() })]),
    rules: z.tuple([z.object({ backendRefs: z.tuple([z.object({ name: z.string(), port: z.number() })]) })]),
  });
  const ingressSpec = z.looseObject({
    tls: z.tuple([z.object({ hosts: z.array(z.string()), secretName: z.string() })]),
    rules: z.array(
      z.object({
        host: z.string(),
        http: z.object({
          paths: z.tuple([
            z.looseObject({
              backend: z.object({
                service: z.object({ name: z.string(), port: z.object({ name: z.string() }) }),
              }),
            }),
          ]),
        }),
      }),
    ),
  });
  const servicePorts = ({ resources }: ManifestReport, name: string) => {
    const found = ofKind(resources, 'Service').find(({ metadata }) => metadata.name === name);
    return z
      .array(z.looseObject({ name: z.string(), port: z.number(), appProtocol: z.string().optional() }))
      .parse(found?.spec['ports']);
  };

  it('expose/ingress: each receiver has a host with a certificate, and the hosts of docs/kubernetes.md can be set', async () => {
    const report = await buildOwn('components: [../deploy/kubernetes/expose/ingress]\n');
    const rules = ofKind(report.resources, 'Ingress').flatMap(({ spec }) => {
      const { tls, rules: own } = ingressSpec.parse(spec);
      expect(own.map(({ host }) => host)).toEqual(tls[0].hosts);
      return own;
    });
    const backends = rules.map(({ http }) => http.paths[0].backend.service);
    expect(backends.map(({ name }) => name)).toEqual(['ingress', 'ingress', 'ingress']);
    expect(backends.map(({ port }) => port.name)).toEqual(
      servicePorts(report, 'ingress').map(({ name }) => name),
    );
    const patched = await buildOwn(guideBlock('components:'));
    const own = JSON.stringify(ofKind(patched.resources, 'Ingress'));
    expect(own).not.toContain('example.com');
    expect(own).not.toContain('nginx"');
  });

  it('expose/gateway: each receiver has a listener with a certificate, and a route to its port', async () => {
    const report = await buildOwn('components: [../deploy/kubernetes/expose/gateway]\n');
    const [gateway] = ofKind(report.resources, 'Gateway');
    const { listeners } = z
      .looseObject({ listeners: z.array(z.looseObject({ name: z.string(), hostname: z.string() })) })
      .parse(gateway?.spec);
    const routes = ofKind(report.resources, 'HTTPRoute', 'GRPCRoute').map(({ spec }) => route.parse(spec));
    expect(
      routes
        .map(({ hostnames, parentRefs }) => [parentRefs[0].name, parentRefs[0].sectionName, hostnames[0]])
        .toSorted(),
    ).toEqual(listeners.map(({ name, hostname }) => [gateway?.metadata.name, name, hostname]).toSorted());
    const ports = routes.map(({ rules: [{ backendRefs }] }) => backendRefs[0].port);
    expect(ports.toSorted()).toEqual(
      servicePorts(report, 'ingress')
        .map(({ port }) => port)
        .toSorted(),
    );
  });

  it('expose/tls: the receivers have the certificate from its secret, and a balancer before all of their ports', async () => {
    const report = await buildOwn('components: [../deploy/kubernetes/expose/tls]\n');
    const spec = podsOf(report.resources).get('ingress')?.spec;
    const container = spec?.containers[0];
    const set = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
    const mount = container?.volumeMounts.find(({ name }) => name === 'tls');
    expect(set).toMatchObject({
      TIDEMARK_INGRESS_TLS_CERT_FILE: `${mount?.mountPath}/tls.crt`,
      TIDEMARK_INGRESS_TLS_KEY_FILE: `${mount?.mountPath}/tls.key`,
    });
    expect(spec?.volumes.find(({ name }) => name === 'tls')?.secret?.secretName).toBe('tidemark-receivers');
    const inside = servicePorts(report, 'ingress');
    expect(servicePorts(report, 'ingress-public').map(({ port }) => port)).toEqual(
      inside.map(({ port }) => port),
    );
    // Nothing speaks without TLS any more.
    expect(inside.map(({ appProtocol }) => appProtocol)).not.toContain('http');
    expect(inside.map(({ appProtocol }) => appProtocol)).not.toContain('kubernetes.io/h2c');
  });
});
