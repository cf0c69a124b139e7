import { request } from 'node:http';

export type RawAnswer = { readonly status: number; readonly body: string };

/** A request with exactly these headers, also those that fetch sets by itself: Host, Origin, Sec-Fetch-Site. */
export const rawRequest = (
  url: string,
  headers: Readonly<Record<string, string>>,
  { method = 'GET', body = '' }: { readonly method?: string; readonly body?: string } = {},
): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { connection: 'close', ...headers } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    sent.once('error', reject);
    sent.end(body);
  });
