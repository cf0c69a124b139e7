// The import rules: model <- wire <- rules <- http <- config, telemetry <- bus, stores <- directory, outcomes, dead-letters
// <- account, doctor <- ingress | transfer | metadata <- embedded, cli <- main. Checked on resolved paths by `make check`.
const layers = [
  ['model'],
  ['wire'],
  ['rules'],
  ['http'],
  ['config', 'telemetry', 'runtime'],
  ['bus', 'stores'],
  ['directory', 'outcomes', 'dead-letters'],
  ['account', 'doctor'],
  ['ingress', 'transfer', 'metadata'],
  ['embedded', 'cli'],
];

const folder = (names) => `^src/(${names.join('|')})/`;

const upward = layers.slice(0, -1).map((names, level) => ({
  name: `no-upward-from-${names.join('-')}`,
  comment: `${names.join(', ')} may import only from the layers below and from its own.`,
  severity: 'error',
  from: { path: folder(names) },
  to: { path: folder(layers.slice(level + 1).flat()) },
}));

/** Packages that stay in one place: everything else goes through that folder's functions. */
const homes = [
  ['@nats-io/.*', 'bus'],
  ['undici|@clickhouse/client|@questdb/.*', 'stores'],
  ['pino|@opentelemetry/.*', 'telemetry'],
  ['prom-client', 'telemetry|runtime'],
  ['commander', 'cli'],
  ['ffi-rs|chdb', 'embedded'],
  ['yaml', 'config'],
];

module.exports = {
  forbidden: [
    ...upward,
    {
      name: 'model-is-pure',
      comment: 'model/ imports nothing outside itself.',
      severity: 'error',
      from: { path: '^src/model/' },
      to: { pathNot: '^src/model/' },
    },
    {
      name: 'wire-is-pure',
      comment: 'wire/ turns values into bytes and back: no I/O.',
      severity: 'error',
      from: { path: '^src/wire/' },
      to: { pathNot: '^src/(wire|model)/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'rules-are-pure',
      comment: 'rules/ judges items and makes rows of them: no I/O.',
      severity: 'error',
      from: { path: '^src/rules/' },
      to: { pathNot: '^src/(rules|wire|model)/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'roles-apart',
      comment: 'No role imports another.',
      severity: 'error',
      from: { path: '^src/(ingress|transfer|metadata)/' },
      to: { path: '^src/(ingress|transfer|metadata)/', pathNot: '^src/$1/' },
    },
    {
      name: 'cli-by-the-contract',
      comment:
        'Commands are clients of the admin API: of metadata they know its answers, how it starts, the way back without a token, and the audit entry of a restore.',
      severity: 'error',
      from: { path: '^src/cli/' },
      to: {
        path: '^src/metadata/',
        pathNot: '^src/metadata/(answers/|(api/contract|metadata|reset-admin-token|note-restore)\\.ts$)',
      },
    },
    {
      name: 'contract-without-bus',
      comment: 'The contract of the admin API is plain shapes: a command that reads it loads no client.',
      severity: 'error',
      from: { path: '^src/metadata/(answers/|api/contract\\.ts$)' },
      to: { path: '^src/(bus|stores)/', reachable: true },
    },
    {
      name: 'ingress-without-stores',
      comment: 'The receivers hand over to the bus; they never reach a database.',
      severity: 'error',
      from: { path: '^src/ingress/' },
      to: { path: '^src/stores/' },
    },
    {
      name: 'bus-and-stores-apart',
      severity: 'error',
      from: { path: '^src/bus/' },
      to: { path: '^src/stores/' },
    },
    {
      name: 'stores-without-bus',
      severity: 'error',
      from: { path: '^src/stores/' },
      to: { path: '^src/bus/' },
    },
    {
      name: 'embedded-is-for-development',
      comment:
        'Only `tidemark setup`, `up`, `env` and `restore` run or fill the engines of this machine, and commands find them by `running-stack.ts`: no role leans on them.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: '^src/(embedded/|cli/(setup|up|env|running-stack|streams-backup/restore-all)\\.ts$)',
      },
      to: { path: '^src/embedded/' },
    },
    {
      name: 'console-apart',
      comment:
        'The console is a client of the admin API: it imports nothing of the sources, and nothing of them imports it.',
      severity: 'error',
      from: { path: '^console/' },
      to: { path: '^(src|test|tools|bench)/' },
    },
    {
      name: 'console-is-files',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^console/' },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-dev-packages-in-the-product',
      comment:
        'Only embedded/ may reach a development package (the engines of `tidemark up` and of the tests).',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/embedded/' },
      to: { dependencyTypes: ['npm-dev'] },
    },
    ...homes.map(([packages, home]) => ({
      name: `${home.replaceAll('|', '-')}-owns-${packages.replace(/[^a-z-]+/g, '-')}`,
      comment: `Only src/${home} imports this client.`,
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/((${home})/|main\\.ts)` },
      to: { path: `node_modules/(${packages})/` },
    })),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: 'node_modules/.*/node_modules' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.js', '.cjs', '.mjs', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types', 'require'],
    },
  },
};
