import { copyFileSync, readFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadPipelines } from '../../../src/config/pipelines.ts';
import { loadSettings, natsTarget } from '../../../src/config/settings.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const root = resolve(import.meta.dirname, '../../..');
const overlay = join(root, 'deploy/kubernetes/overlays/large');

const { configMapGenerator: maps, patches } = z
  .looseObject({
    patches: z.array(
      z.looseObject({ target: z.looseObject({ kind: z.string(), name: z.string() }), patch: z.string() }),
    ),
    configMapGenerator: z.array(
      z.looseObject({
        name: z.string(),
        literals: z.array(z.string()).default([]),
        files: z.array(z.string()).default([]),
      }),
    ),
  })
  .parse(parse(readFileSync(join(overlay, 'kustomization.yaml'), 'utf8')));

/** The pipelines as the roles see them. */
const pipelinesFolder = async (): Promise<string> => {
  const folder = join(await tempFolder(), 'pipelines');
  await cp(join(root, 'pipelines'), folder, { recursive: true });
  for (const file of maps.find(({ name }) => name === 'tidemark-pipelines')?.files ?? [])
    copyFileSync(join(overlay, file), join(folder, file));
  return folder;
};

const operations = z.array(z.looseObject({ path: z.string(), value: z.unknown() }));

/** The bytes of the disk that a patch gives to this object. */
const diskOf = (kind: string, name: string): number => {
  const patch = patches.find(({ target }) => target.kind === kind && target.name === name)?.patch ?? '[]';
  const found = operations.parse(parse(patch)).find(({ path }) => path.endsWith('/requests/storage'))?.value;
  const [, count = '', unit = ''] = /^(\d+)([GT])i$/.exec(String(found)) ?? [];
  return Number(count) * 2 ** (unit === 'T' ? 40 : 30);
};

describe('the large overlay', () => {
  it('gives backups twice the disk of QuestDB, as the small one does', () => {
    const own = diskOf('StatefulSet', 'questdb');
    expect(own).toBeGreaterThan(0);
    expect(diskOf('PersistentVolumeClaim', 'backup')).toBe(2 * own);
  });

  it('has every stream and bucket on three servers, and every insert of spans guarded', async () => {
    const variables = Object.fromEntries(
      maps.flatMap(({ literals }) => literals.map((literal) => literal.split('='))),
    );
    const settings = loadSettings(variables);
    expect(natsTarget(settings).replicas).toBe(3);
    const { streams, traces } = loadPipelines(await pipelinesFolder(), settings.nats.replicas);
    expect([traces.guard, ...streams.map(({ replicas }) => replicas)]).toEqual([
      'always',
      ...streams.map(() => 3),
    ]);
  });

  it('differs from the pipelines in the byte budgets of streams alone, which hold half an hour of points at the full rate', async () => {
    const [own, shipped] = [loadPipelines(await pipelinesFolder()), loadPipelines(join(root, 'pipelines'))];
    const budgets = new Map(own.streams.map(({ name, bytesMax }) => [name, bytesMax]));
    const streams = shipped.streams.map((stream) => ({ ...stream, bytesMax: budgets.get(stream.name) }));
    expect(own.streams).toEqual(streams);
    // 234,000 points of 146 bytes.
    expect((budgets.get('METRICS') ?? 0) / (234_000 * 146)).toBeGreaterThan(30 * 60);
    const { config } = z
      .looseObject({
        config: z.looseObject({
          jetstream: z.looseObject({
            fileStore: z.looseObject({ maxSize: z.templateLiteral([z.int(), 'Gi']) }),
          }),
        }),
      })
      .parse(parse(readFileSync(join(root, 'deploy/kubernetes/values/nats-large.yaml'), 'utf8')));
    const room = Number.parseInt(config.jetstream.fileStore.maxSize, 10) * 2 ** 30;
    expect(own.streams.reduce((sum, { bytesMax }) => sum + bytesMax, 0)).toBeLessThan(room);
  });
});
