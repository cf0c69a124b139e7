import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadPipelines } from '../../../src/config/pipelines.ts';
import { loadSettings, natsTarget } from '../../../src/config/settings.ts';

const file = resolve(import.meta.dirname, '../../../deploy/kubernetes/overlays/large/kustomization.yaml');

it('the large overlay has the pipelines as they are, every stream and bucket on three servers, and every insert of spans guarded', () => {
  const { configMapGenerator: maps } = z
    .looseObject({ configMapGenerator: z.array(z.looseObject({ literals: z.array(z.string()) })) })
    .parse(parse(readFileSync(file, 'utf8')));
  const variables = Object.fromEntries(
    maps.flatMap(({ literals }) => literals.map((literal) => literal.split('='))),
  );
  const settings = loadSettings(variables);
  expect(settings.pipelinesFolder).toBe(loadSettings({}).pipelinesFolder);
  expect(natsTarget(settings).replicas).toBe(3);
  const { streams, traces } = loadPipelines(settings.pipelinesFolder, settings.nats.replicas);
  expect([traces.guard, ...streams.map(({ replicas }) => replicas)]).toEqual([
    'always',
    ...streams.map(() => 3),
  ]);
});
