import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { loadSettings } from '../../../src/config/settings.ts';

const root = resolve(import.meta.dirname, '../../..');

const podSchema = z.looseObject({
  containers: z.array(z.looseObject({ name: z.string() })),
  enableServiceLinks: z.boolean().optional(),
});

/** Every pod's specification in a manifest, however deep. */
const podsIn = (value: unknown): z.output<typeof podSchema>[] => {
  if (typeof value !== 'object' || value === null) return [];
  const pod = podSchema.safeParse(value);
  return [...(pod.success ? [pod.data] : []), ...Object.values(value).flatMap(podsIn)];
};

const pods = globSync('deploy/kubernetes/**/*.yaml', { cwd: root }).flatMap((file) =>
  parseAllDocuments(readFileSync(join(root, file), 'utf8')).flatMap((document) =>
    podsIn(document.toJS()).map(({ containers, enableServiceLinks }) => ({
      pod: `${file}: ${containers.map(({ name }) => name).join()}`,
      enableServiceLinks,
    })),
  ),
);

it('no pod gets variables that Kubernetes makes from the names of services, which settings could have', () => {
  // What a service of this name brings into each pod of its namespace.
  expect(() => loadSettings({ TIDEMARK_INGRESS_PORT: 'tcp://10.0.0.1:10205' })).toThrow(
    /TIDEMARK_INGRESS_PORT/,
  );
  expect(pods.length).toBeGreaterThanOrEqual(11);
  expect(pods.filter(({ enableServiceLinks }) => enableServiceLinks !== false)).toEqual([]);
});
