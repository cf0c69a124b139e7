// Runs schemathesis against a metadata role on real engines: `make fuzz-api`. Ends non-zero when it finds something. FUZZ_EXAMPLES is
// how many cases each operation gets at most.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startMetadataRole } from '../metadata/role.ts';
import { installPython } from '../python/python.ts';
import { makeTables, startEngines } from '../stack/engines.ts';

const seed = '20261121';
const examples = process.env['FUZZ_EXAMPLES'] ?? '40';

/** Tokens whose revocation ends the run: the one it bears. */
const selfDestroying = '/api/v1/admin-tokens/{id}/revoke';

const python = await installPython('openapi-fuzz-requirements.txt');
const engines = await startEngines({ nats: true, questdb: true, clickhouse: true });
try {
  await makeTables(engines.clickhouse.url);
  const metadata = await startMetadataRole(engines);
  try {
    const token = (await readFile(join(metadata.dataFolder, 'admin.token'), 'utf8')).trim();
    const config = join(import.meta.dirname, 'openapi-fuzz.toml');
    const run = spawn(
      python,
      [
        // Scripts of an environment name the folder it was made in, and this one was moved.
        ...['-c', 'from schemathesis.cli import schemathesis; schemathesis()'],
        ...['--config-file', config, 'run', `${metadata.url}/openapi.json`, '--url', metadata.url],
        ...['--header', `Authorization: Bearer ${token}`, '--exclude-path', selfDestroying],
        ...['--seed', seed, '--max-examples', examples, '--generation-database', 'none', '--no-color'],
        ...['--phases', 'examples,coverage,fuzzing,stateful', '--continue-on-failure', '--warnings', 'off'],
      ],
      { stdio: 'inherit', cwd: engines.folder, env: { PATH: process.env['PATH'] ?? '' } },
    );
    const [code] = await once(run, 'exit');
    process.exitCode = typeof code === 'number' ? code : 1;
  } finally {
    await metadata.role.stop();
  }
} finally {
  await engines.stop();
}
