import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const source = resolve(import.meta.dirname, '../../pipelines');

export const largePipelinesFolder = resolve(
  import.meta.dirname,
  '../../deploy/kubernetes/overlays/large/pipelines',
);

/** By file: our pipelines for streams on three servers, where a repeat need not be told by the server, so that all is guarded. */
export const largePipelines = (): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(source).map((file) => [
      file,
      readFileSync(join(source, file), 'utf8')
        .replaceAll('replicas: 1', 'replicas: 3')
        .replace('guard: suspect', 'guard: always'),
    ]),
  );
