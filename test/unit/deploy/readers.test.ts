import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { loadSettings } from '../../../src/config/settings.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const folder = resolve(import.meta.dirname, '../../../deploy/kubernetes');

const secretKey = z.object({ name: z.string(), key: z.string() });
const podSchema = z.looseObject({
  containers: z.tuple([
    z.looseObject({
      env: z.array(
        z.looseObject({
          name: z.string(),
          value: z.string().optional(),
          valueFrom: z.looseObject({ secretKeyRef: secretKey.optional() }).optional(),
        }),
      ),
      volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
    }),
  ]),
  volumes: z
    .array(
      z.looseObject({
        name: z.string(),
        secret: z
          .object({
            secretName: z.string(),
            items: z.array(z.object({ key: z.string(), path: z.string() })).optional(),
          })
          .optional(),
      }),
    )
    .default([]),
});
const workload = z.looseObject({
  spec: z.looseObject({ template: z.looseObject({ spec: podSchema }) }),
});

const podOf = (file: string): z.output<typeof podSchema> => {
  const found = parseAllDocuments(readFileSync(join(folder, file), 'utf8')).flatMap(
    (document) => workload.safeParse(document.toJS()).data ?? [],
  );
  const [first] = found;
  if (first === undefined) throw new Error(`${file} has no pod`);
  return first.spec.template.spec;
};

/** The text of a key of a secret here. */
const textOf = (secret: string, key: string): string => `${secret}/${key}`;

/** The settings of metadata, with the keys of its secrets as files below this folder. */
const settingsOfMetadata = (place: string) => {
  const { containers, volumes } = podOf('base/metadata.yaml');
  const [{ env, volumeMounts }] = containers;
  for (const { name, mountPath } of volumeMounts) {
    const secret = volumes.find((each) => each.name === name)?.secret;
    for (const { key, path } of secret?.items ?? []) {
      const file = join(place, mountPath, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, textOf(secret?.secretName ?? '', key));
    }
  }
  const readers = env.filter(({ name }) => name.includes('_READONLY_'));
  return loadSettings(
    Object.fromEntries(
      readers.map(({ name, value = '' }) => [name, name.endsWith('_FILE') ? join(place, value) : value]),
    ),
  );
};

/** What a variable of an engine is given: its value, or the key of a secret. */
const givenTo = (file: string, variable: string): string | undefined => {
  const found = podOf(file).containers[0].env.find(({ name }) => name === variable);
  const key = found?.valueFrom?.secretKeyRef;
  return key === undefined ? found?.value : textOf(key.name, key.key);
};

// The user in the addresses has all rights, and a query could use them.
it('queries of metadata in Kubernetes run as the users that only read, which both engines have', async () => {
  const { questdb, clickhouse } = settingsOfMetadata(await tempFolder());
  expect([questdb.readonlyUser, questdb.readonlyPassword]).toEqual([
    givenTo('questdb/questdb.yaml', 'QDB_PG_READONLY_USER'),
    givenTo('questdb/questdb.yaml', 'QDB_PG_READONLY_PASSWORD'),
  ]);
  expect([clickhouse.readonlyUser, clickhouse.readonlyPassword]).toEqual([
    'readonly',
    givenTo('clickhouse-single/clickhouse.yaml', 'CLICKHOUSE_READONLY_PASSWORD'),
  ]);
  const operators = readFileSync(join(folder, 'clickhouse/clickhouse.yaml'), 'utf8');
  expect(operators).toContain(
    `${clickhouse.readonlyUser}/k8s_secret_password: clickhouse/${clickhouse.readonlyPassword}\n`,
  );
});
