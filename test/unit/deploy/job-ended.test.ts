import { execFile } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { deployFolder } from '../../support/deploy/dashboards.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const run = promisify(execFile);

/**
 * Waits for a Job that has these conditions at the second look, whose pod waits for this until then. A program that plays kubectl
 * stands in place of a cluster.
 */
const ended = async (conditions: string, waiting = '') => {
  const folder = await tempFolder();
  writeFileSync(
    join(folder, 'kubectl'),
    `#!/bin/sh
case "$*" in
  *' get pod '*) printf ' \\n%s\\n' '${waiting}' ;;
  *logs*) echo 'check: files.txt differs' ;;
  *message*) echo 'reached its limit' ;;
  *) if [ -e '${folder}/looked' ]; then echo '${conditions}'; fi; touch '${folder}/looked' ;;
esac
`,
  );
  chmodSync(join(folder, 'kubectl'), 0o755);
  const env = { ...process.env, POLL: '0', PATH: `${folder}${delimiter}${process.env['PATH']}` };
  return run('sh', [join(deployFolder, 'kubernetes/ended.sh'), 'restore-questdb'], { env });
};

it('the wait for a Job passes once it is complete', async () => {
  await expect(ended('SuccessCriteriaMet Complete')).resolves.toMatchObject({ stderr: '' });
});

it('the wait for a Job names what its pod waits for', async () => {
  const waiting = 'CreateContainerConfigError configmap "tidemark-restore" not found';
  await expect(ended('Complete', waiting)).resolves.toMatchObject({
    stderr: `the Job restore-questdb waits: ${waiting}\n`,
  });
  await expect(ended('Complete', 'PodInitializing ')).resolves.toMatchObject({ stderr: '' });
});

// `kubectl wait --for=condition=complete` waits its whole time for such a Job.
it('the wait for a Job fails once the Job has failed, with its logs', async () => {
  const failed = ended('FailureTarget Failed');
  await expect(failed).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/restore-questdb has failed: reached its limit\ncheck: files\.txt differs/),
  });
});
