import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';

// A start of a role or of a command loads hundreds of modules: half of its processor time. `make test` starts more than a thousand, so
// that it builds the program into few files first. Those of `tidemark up` and of every other suite load the sources.

const root = resolve(import.meta.dirname, '../../..');
const cache = join(root, 'node_modules/.cache/tidemark-built');
const dayMs = 86_400_000;

/** Each module finds the files beside it where its source is. */
const placesOfSources: Plugin = {
  name: 'places-of-sources',
  enforce: 'pre',
  transform: (code, id) =>
    id.startsWith(join(root, 'src'))
      ? code
          .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
      : undefined,
};

/** Of every source, of the versions of the libraries, and of the place that is written into it. */
const digest = (): string => {
  const hash = createHash('sha256').update(root);
  const files = [
    'package-lock.json',
    'test/support/vitest/built-program.ts',
    ...globSync('src/**/*.ts', { cwd: root }).sort(),
  ];
  for (const file of files) hash.update(`\0${file}\0`).update(readFileSync(join(root, file)));
  return hash.digest('hex').slice(0, 16);
};

/** Builds the program, if these sources were not built before; answers the folder of its `main.js`. */
const builtProgram = async (): Promise<string> => {
  mkdirSync(cache, { recursive: true });
  const folder = join(cache, digest());
  if (existsSync(folder)) return folder;
  for (const name of readdirSync(cache).map((each) => join(cache, each)))
    if (Date.now() - statSync(name).mtimeMs > dayMs) rmSync(name, { recursive: true, force: true });
  const outDir = `${folder}.${process.pid}`;
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    plugins: [placesOfSources],
    ssr: { noExternal: true },
    build: {
      ssr: 'src/main.ts',
      outDir,
      target: 'esnext',
      minify: false,
      rolldownOptions: { output: { entryFileNames: 'main.js' } },
    },
  });
  try {
    renameSync(outDir, folder);
  } catch (error) {
    // Another run was first.
    rmSync(outDir, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
};

/** Before all files of a run: their roles and commands are of the built program. */
export default async (): Promise<void> => {
  process.env['BUILT_PROGRAM'] = await builtProgram();
};
