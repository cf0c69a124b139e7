import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deployFolder } from './dashboards.ts';

export type Stage = {
  readonly name: string;
  readonly instructions: readonly { readonly keyword: string; readonly rest: string }[];
};

/** The image that deploy/Dockerfile begins with. */
export const nodeImage = (): string => {
  const image = /^ARG NODE_IMAGE=(\S+)$/m.exec(readFileSync(join(deployFolder, 'Dockerfile'), 'utf8'))?.[1];
  if (image === undefined) throw new Error('deploy/Dockerfile names no NODE_IMAGE');
  return image;
};

/** The stages of deploy/Dockerfile, in their order. */
export const dockerfileStages = (): Stage[] => {
  const lines = readFileSync(join(deployFolder, 'Dockerfile'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const stages: { name: string; instructions: { keyword: string; rest: string }[] }[] = [];
  for (const line of lines) {
    const [, keyword = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
    if (keyword === 'FROM') stages.push({ name: / AS (\S+)$/.exec(rest)?.[1] ?? '', instructions: [] });
    else stages.at(-1)?.instructions.push({ keyword, rest });
  }
  return stages;
};

/** What a stage copies out of the repository, and what out of another stage. */
export const copiesOf = ({ instructions }: Stage): { from: string; paths: string[]; to: string }[] =>
  instructions
    .filter(({ keyword }) => keyword === 'COPY')
    .map(({ rest }) => {
      const words = rest.split(/\s+/);
      const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length) ?? '';
      const paths = words.filter((word) => !word.startsWith('--'));
      return { from, paths: paths.slice(0, -1), to: paths.at(-1) ?? '' };
    });
