import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { createQuestdbSql } from '../../../../src/stores/questdb/sql.ts';

const usualMs = 100;
/** The client looks at its usual bound once a second. */
const answerMs = 2_500;

it('a statement with a time of its own waits that long, and another one as long as usual', async () => {
  const answer = JSON.stringify({ query: 'x', columns: [], dataset: [], count: 0 });
  const server = createServer((_, response) => void setTimeout(() => response.end(answer), answerMs));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const sql = createQuestdbSql({ url: `http://127.0.0.1:${port}`, timeoutMs: usualMs });
  onTestFinished(() => sql.close());
  const [long, usual] = await Promise.allSettled([sql.exec('long', 60_000), sql.exec('usual')]);
  expect(long).toMatchObject({ status: 'fulfilled', value: { dataset: [] } });
  expect(usual).toMatchObject({ status: 'rejected', reason: { code: 'questdb_unavailable' } });
});
