import { execFile } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { missingTool } from '../support/clients/builds.ts';
import { deployFolder } from '../support/deploy/dashboards.ts';
import { buildManifests, type Resource } from '../support/deploy/manifests.ts';
import { tempFolder } from '../support/stack/temp-folder.ts';

const run = promisify(execFile);
const missing = await missingTool('go');
const overlay = join(deployFolder, 'kubernetes/overlays/small');

/**
 * The calls of kubectl in a run of the script, up to the one that holds `failing`. In place of a cluster stands a program that
 * writes down how it is called: it says nothing about what a cluster makes of the calls.
 */
const callsOf = async (
  args: readonly string[],
  failing = 'no call',
): Promise<{ calls: string[]; ended: boolean }> => {
  const folder = await tempFolder();
  const log = join(folder, 'calls');
  writeFileSync(
    join(folder, 'kubectl'),
    `#!/bin/sh\necho "$*" >>'${log}'\ncase "$*" in *'get statefulset'*) echo statefulset.apps/questdb;; *'${failing}'*) exit 1;; esac\n`,
  );
  chmodSync(join(folder, 'kubectl'), 0o755);
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH']}` };
  const script = join(deployFolder, 'kubernetes/upgrade.sh');
  const ended = await run('sh', [script, ...args], { env }).then(
    () => true,
    () => false,
  );
  return { calls: readFileSync(log, 'utf8').trim().split('\n'), ended };
};

/** The objects that a call of apply takes, by the label that its selector asks for. */
const applied = (resources: readonly Resource[], call: string): Resource[] | undefined => {
  const [, selector] = / -l (\S+)$/.exec(call) ?? [];
  if (!call.startsWith('apply -k ') || selector === undefined) return undefined;
  return resources.filter(({ metadata: { labels } }) =>
    selector === '!tidemark/step'
      ? labels['tidemark/step'] === undefined
      : selector === `tidemark/step=${labels['tidemark/step']}`,
  );
};

const workloads = (resources: readonly Resource[]): string[] =>
  resources.filter(({ kind }) => ['Deployment', 'Job'].includes(kind)).map(({ metadata }) => metadata.name);

describe.skipIf(missing !== undefined)(`the script that upgrades a cluster ${missing ?? ''}`, () => {
  it('applies every object once: tables, then transfer with metadata, then ingress, each after what is before it is there', async () => {
    const [report] = await buildManifests(overlay);
    const resources = report?.resources ?? [];
    const { calls, ended } = await callsOf([overlay]);
    expect(ended).toBe(true);
    const steps = calls.flatMap((call) => applied(resources, call) ?? []);
    expect(steps.length).toBe(resources.length);
    expect(new Set(steps).size).toBe(resources.length);
    expect(workloads(steps)).toEqual(['migrate', 'transfer', 'metadata', 'ingress']);
    const waits = calls.filter((call) => /rollout status|wait --for/.test(call));
    expect(waits.map((call) => /\S+\/\w+/.exec(call)?.[0])).toEqual([
      'statefulset.apps/questdb',
      'job/migrate',
      'deployment/transfer',
      'deployment/metadata',
      'deployment/ingress',
    ]);
    // A Job that is there would refuse the new image.
    const at = (part: string): number => calls.findIndex((call) => call.includes(part));
    expect(at('delete job migrate')).toBeLessThan(at('tidemark/step=migrate'));
    expect(at('tidemark/step=metadata')).toBeLessThan(at('rollout status deployment/transfer'));
    // What a newer receiver writes, only a newer transfer reads.
    for (const role of ['transfer', 'metadata'])
      expect(at(`rollout status deployment/${role}`)).toBeLessThan(at('tidemark/step=ingress'));
  });

  it('goes back in the reverse order, and leaves the tables', async () => {
    const { calls } = await callsOf(['--back', overlay]);
    expect(calls.flatMap((call) => /tidemark\/step=(\w+)/.exec(call)?.[1] ?? [])).toEqual([
      'ingress',
      'metadata',
      'transfer',
    ]);
  });

  it.each([
    ['the tables are not made', 'wait --for', 'tidemark/step=transfer'],
    ['transfer does not get ready', 'status deployment/transfer', 'tidemark/step=ingress'],
    ['metadata does not get ready', 'status deployment/metadata', 'tidemark/step=ingress'],
  ])('goes no further when %s', async (_, failing, next) => {
    const { calls, ended } = await callsOf([overlay], failing);
    expect(ended).toBe(false);
    expect(calls.at(-1)).toContain(failing);
    expect(calls.join('\n')).not.toContain(next);
  });
});
