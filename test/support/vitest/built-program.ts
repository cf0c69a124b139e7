import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';
import { keptFolder, root } from './kept-folder.ts';

// A start of a role or of a command loads hundreds of modules: half of its processor time. `make test` starts more than a thousand, so
// that it builds the program into few files first. Those of `tidemark up` and of every other suite load the sources.

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

const buildInto = async (outDir: string): Promise<void> => {
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
};

/** Before all files of a run: their roles and commands are of the built program. */
export default async (): Promise<void> => {
  process.env['BUILT_PROGRAM'] = await keptFolder(
    'built',
    ['test/support/vitest/built-program.ts', 'src/**/*.ts'],
    buildInto,
  );
};
