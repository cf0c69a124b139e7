import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

const root = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const nameSchema = z.looseObject({ metadata: z.looseObject({ name: z.string() }) });
const claimSchema = nameSchema.extend({ kind: z.literal('PersistentVolumeClaim') });
const setSchema = nameSchema.extend({
  kind: z.literal('StatefulSet'),
  spec: z.looseObject({ volumeClaimTemplates: z.array(nameSchema).default([]) }),
});

/** The claims that an object makes, of the first pod of a set. */
const claimsOf = (object: unknown): string[] => {
  const claim = claimSchema.safeParse(object).data;
  if (claim !== undefined) return [claim.metadata.name];
  const set = setSchema.safeParse(object).data;
  return (set?.spec.volumeClaimTemplates ?? []).map(
    ({ metadata }) => `${metadata.name}-${set?.metadata.name}-0`,
  );
};

/** With those of the folders that are used once more, under names with a suffix. */
const claims = globSync('deploy/kubernetes/**/*.yaml', { cwd: root })
  .flatMap((path) => parseAllDocuments(read(path)).flatMap((document) => claimsOf(document.toJS())))
  .flatMap((name) => [name, `${name}-b`]);

describe('the alarms of full disks', () => {
  it.each(['TidemarkDiskFilling', 'TidemarkDiskFull'])('watch every volume of the manifests: %s', (alarm) => {
    const [, rule = ''] = read('deploy/prometheus/rules/tidemark.yaml').split(`alert: ${alarm}\n`);
    const [, pattern = ''] = /persistentvolumeclaim=~"([^"]+)"/.exec(rule) ?? [];
    // Prometheus holds a pattern against the whole text.
    const watched = new RegExp(`^(?:${pattern})$`);
    expect(claims.length).toBeGreaterThan(4);
    expect(claims.filter((name) => !watched.test(name))).toEqual([]);
  });
});
