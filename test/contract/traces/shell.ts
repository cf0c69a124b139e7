import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedTraceStack, type TraceStack } from '../../support/otlp/trace-stack.ts';
import type { Application } from '../../support/stack/stack.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';
import { waitFor } from '../../support/wait.ts';

const run = promisify(execFile);

let on: TraceStack;
beforeAll(async () => {
  on = await sharedTraceStack();
});

/** The script of a user who has curl and no SDK: `time` is a line of shell that sets NOW and LATER. */
const scriptOf = (time: string): string => `
${time}
curl -s -w '\\n%{http_code} %{content_type}\\n' -X POST "$URL" -H "Content-Type: application/json" -H "X-MON-TOKEN: $TOKEN" -d '{
  "resourceSpans": [{
    "resource": { "attributes": [{ "key": "service.name", "value": { "stringValue": "shell" } }] },
    "scopeSpans": [{ "spans": [{
      "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "deploy", "kind": 1,
      "startTimeUnixNano": "'"$NOW"'", "endTimeUnixNano": "'"$LATER"'"
    }] }]
  }]
}'
echo "$NOW"
`;

/** Runs it with sh and answers its lines. */
const runScript = async (time: string, { token }: Application, path?: string): Promise<string[]> => {
  const { PATH = '' } = process.env;
  const env = { PATH: path === undefined ? PATH : `${path}:${PATH}`, URL: on.url, TOKEN: token };
  const { stdout } = await run('sh', ['-c', scriptOf(time)], { env });
  return stdout.trim().split('\n');
};

/** A folder whose `date` does not support %N, as that of macOS before 15 and of BusyBox: it prints the letter. */
const folderOfOldDate = async (): Promise<string> => {
  const folder = join(await tempFolder(), 'bin');
  await mkdir(folder);
  const program = join(folder, 'old-date');
  await writeFile(program, '#!/bin/sh\nexec /bin/date "$(echo "$1" | sed "s/%N/N/")"\n', { mode: 0o755 });
  await symlink(program, join(folder, 'date'));
  return folder;
};

describe('a span of a shell script and curl', () => {
  it.each([
    ['$(date +%s)000000000', 'NOW="$(date +%s)000000000"; LATER="$(date +%s)000000001"'],
    ['$(date +%s%N)', 'NOW="$(date +%s%N)"; LATER="$(date +%s%N)"'],
  ])('with the times %s is stored to the nanosecond', async (_, time) => {
    const application = await on.application();
    const [body, status, now] = await runScript(time, application);
    expect([body, status]).toEqual(['{}', '200 application/json']);
    expect(now).toMatch(/^\d{19}$/);
    expect(await on.storedSpans(application)).toMatchObject([
      { Timestamp: now, SpanName: 'deploy', ServiceName: 'shell' },
    ]);
  });

  it('with the trailing N of a date without %N is answered 200 with a warning and dropped in transfer', async () => {
    const application = await on.application();
    const labels = { reason: 'timestamp_not_numeric' };
    const before = await on.counter('transfer', 'tidemark_transfer_items_dropped_total', labels);
    const time = 'NOW="$(date +%s%N)"; LATER="$(date +%s%N)"';
    const [body = '', status, now] = await runScript(time, application, await folderOfOldDate());
    expect(now).toMatch(/^\d{10}N$/);
    expect(status).toBe('200 application/json');
    expect(JSON.parse(body)).toMatchObject({
      partialSuccess: { rejectedSpans: '0', errorMessage: expect.stringContaining('timestamp_not_numeric') },
    });
    expect(await on.storedSpans(application)).toEqual([]);
    await waitFor('the span to be counted as dropped', 60_000, async () => {
      const dropped = await on.counter('transfer', 'tidemark_transfer_items_dropped_total', labels);
      return dropped === before + 1;
    });
  });
});
