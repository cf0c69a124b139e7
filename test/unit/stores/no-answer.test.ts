import { createServer as createPlain, type RequestListener } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { Server } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClickhouse } from '../../../src/stores/clickhouse/client.ts';
import { createQuestdbSql } from '../../../src/stores/questdb/sql.ts';
import { createQuestdbWriter } from '../../../src/stores/questdb/writer.ts';
import { makeAuthority, makeCertificate } from '../../support/stack/certificates.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const listening = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `localhost:${typeof address === 'object' ? address?.port : 0}`;
};

const page = `<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>\r\n<body>${'<p>'.repeat(100)}</body></html>`;
const sendPage: RequestListener = (_, response) => void response.writeHead(400).end(page);

const ways: readonly (readonly [string, (url: string) => Promise<unknown>])[] = [
  [
    'statements of QuestDB',
    async (url) => {
      const sql = createQuestdbSql({ url });
      return sql.exec('SELECT 1').finally(() => sql.close());
    },
  ],
  [
    'rows of QuestDB',
    async (url) => {
      const writer = createQuestdbWriter({ url, timeoutMs: 5_000 });
      return writer.write([Buffer.from('a b=1 1\n')]).finally(() => writer.close());
    },
  ],
  [
    'ClickHouse',
    async (url) => {
      const clickhouse = createClickhouse({ url });
      return clickhouse.run('SELECT 1').finally(() => clickhouse.close());
    },
  ],
];

// The texts stand in /readyz and in the log, and say what an operator has to change.
describe.each(ways)('a store that does not answer: %s', (_, ask) => {
  it('has the remedy of an unknown authority', async () => {
    const folder = await tempFolder();
    const { cert, key } = makeCertificate(folder, 'server', makeAuthority(folder, 'authority'));
    await expect(ask(`https://${await listening(createSecure({ cert, key }))}`)).rejects.toMatchObject({
      kind: 'transient',
      message: expect.stringMatching(/unable to verify .*NODE_EXTRA_CA_CERTS/),
    });
  });

  it('has the remedy of https to a plain port', async () => {
    await expect(ask(`https://${await listening(createPlain())}`)).rejects.toMatchObject({
      kind: 'transient',
      message: expect.stringMatching(/wrong version number.*begin the address with http:\/\/$/),
    });
  });

  it('is named by the title of a page that a proxy sent', async () => {
    await expect(ask(`http://${await listening(createPlain(sendPage))}`)).rejects.toMatchObject({
      message: expect.stringMatching(
        /: (400 )?a page of HTML: 400 The plain HTTP request was sent to HTTPS port$/,
      ),
    });
  });
});
