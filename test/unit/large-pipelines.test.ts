import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadPipelines } from '../../src/config/pipelines.ts';
import { loadSettings } from '../../src/config/settings.ts';
import { largePipelines, largePipelinesFolder } from '../support/large-pipelines.ts';

// A deployment with pipelines of its own misses what is changed in ours.
it('the pipelines of the large overlay are ours on three replicas, guarded: node test/support/write-large-pipelines.ts', () => {
  const wanted = largePipelines();
  expect(readdirSync(largePipelinesFolder)).toEqual([...wanted.keys()]);
  for (const [file, text] of wanted)
    expect(readFileSync(join(largePipelinesFolder, file), 'utf8')).toBe(text);
  const { streams, traces } = loadPipelines(largePipelinesFolder, loadSettings({}).schemasFolder);
  expect([traces.guard, ...streams.map(({ replicas }) => replicas)]).toEqual([
    'always',
    ...streams.map(() => 3),
  ]);
  const { configMapGenerator: maps } = z
    .looseObject({ configMapGenerator: z.array(z.looseObject({ files: z.array(z.string()).default([]) })) })
    .parse(parse(readFileSync(join(largePipelinesFolder, '../kustomization.yaml'), 'utf8')));
  expect(maps.flatMap(({ files }) => files).toSorted()).toEqual(
    [...wanted.keys()].map((file) => `pipelines/${file}`),
  );
});
