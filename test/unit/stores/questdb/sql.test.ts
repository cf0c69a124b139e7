import { createServer, type ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { createQuestdbSql, toResult } from '../../../../src/stores/questdb/sql.ts';

it('a statement with a time of its own waits that long, and another one as long as usual', async () => {
  const held: ServerResponse[] = [];
  const server = createServer((request, response) => {
    // The other statement never has an answer: its bound alone ends it.
    if (request.url?.includes('long')) held.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const sql = createQuestdbSql({ url: `http://127.0.0.1:${port}`, timeoutMs: 100 });
  onTestFinished(() => sql.close());
  const long = Promise.allSettled([sql.exec('long', 60_000)]);
  await expect.poll(() => held.length).toBe(1);
  await expect(sql.exec('usual')).rejects.toMatchObject({ code: 'questdb_unavailable' });
  held[0]?.end(JSON.stringify({ query: 'x', columns: [], dataset: [], count: 0 }));
  expect(await long).toMatchObject([{ status: 'fulfilled', value: { dataset: [] } }]);
});

it.each([
  [401, 'Unauthorized\r\n', 'QuestDB refused: 401 Unauthorized'],
  [400, '{"error":"unknown table\\n"}', 'QuestDB refused: unknown table'],
  [500, 'a\r\nb\r\n', 'QuestDB answered 500: a b'],
])('an error is one line without the end of its answer: %i', (status, text, message) => {
  expect(() => toResult(status, text)).toThrow(expect.objectContaining({ message }));
});
