import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { codeBlocksOf, readDocument } from '../../support/docs-code.ts';

const folder = resolve(import.meta.dirname, '../../../deploy/kubernetes');

const ports = z.array(z.looseObject({ port: z.union([z.number(), z.string()]) }));
const policySchema = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    ingress: z.unknown(),
    egress: z.tuple([z.looseObject({ ports }), z.looseObject({ ports })]),
  }),
});

const policies = parseAllDocuments(readFileSync(join(folder, 'base/network.yaml'), 'utf8')).flatMap(
  (document) => policySchema.safeParse(document.toJS()).data ?? [],
);
const policyOf = (name: string): z.output<typeof policySchema> => {
  const found = policies.find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw new Error(`no policy ${name}`);
  return found;
};

const guide = readDocument('docs/kubernetes.md');
const heading = 'What the network policies allow';
const [, chapter = ''] = guide.split(`### ${heading}\n`);
const text = chapter.split('\n```')[0] ?? '';

// A call that a policy drops times out, and nothing names the policy.
it('the guide names each port that metadata may reach, and the label that the admin API admits', () => {
  const [, others] = policyOf('metadata').spec.egress;
  expect(others.ports.length).toBeGreaterThan(0);
  for (const { port } of others.ports) expect(text).toMatch(new RegExp(`\\b${port}\\b`));
  const [, label] =
    /"matchLabels":\{"(tidemark\/[a-z]+)":"true"\}/.exec(JSON.stringify(policyOf('metadata').spec.ingress)) ??
    [];
  expect(label).toBeDefined();
  expect(text).toContain(`${label}: "true"`);
});

it('its patch adds ports to rules that the policies have', () => {
  const block = codeBlocksOf(guide).find((each) => each.heading === heading);
  const { patches } = z
    .object({
      patches: z
        .array(z.object({ target: z.object({ kind: z.string(), name: z.string() }), patch: z.string() }))
        .min(1),
    })
    .parse(parse(block?.code ?? ''));
  const operations = z.array(
    z.looseObject({ op: z.literal('add'), path: z.literal('/spec/egress/1/ports/-') }),
  );
  for (const { target, patch } of patches) {
    expect(target.kind).toBe('NetworkPolicy');
    expect(operations.parse(parse(patch)).length).toBeGreaterThan(0);
    for (const name of target.name.split('|')) expect(policyOf(name).spec.egress).toHaveLength(2);
  }
});
