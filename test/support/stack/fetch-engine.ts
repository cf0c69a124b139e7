import { request } from 'undici';

/** An address with user and password in it as one without, and the header that brings them. */
export const splitAccount = (address: string): { url: string; headers: Record<string, string> } => {
  const url = new URL(address);
  const { username, password } = url;
  const account = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  url.username = '';
  url.password = '';
  const authorization = `Basic ${Buffer.from(account).toString('base64')}`;
  return { url: url.href, headers: username === '' ? {} : { authorization } };
};

/** The variables of `tidemark env` that the documents' commands use, for engines of a test. */
export const engineVariables = ({
  questdb,
  clickhouse,
}: Readonly<Record<'questdb' | 'clickhouse', { readonly url: string }>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ QUESTDB: questdb.url, CLICKHOUSE: clickhouse.url }).flatMap(([name, address]) => {
      const { origin, username, password } = new URL(address);
      return [
        [`${name}_URL`, origin],
        [`${name}_USER`, username],
        [`${name}_PASSWORD`, password],
      ];
    }),
  );

/** fetch with the credentials that an engine's address holds: fetch itself takes none there. */
export const fetchEngine = (
  address: string,
  init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
): Promise<Response> => {
  const { url, headers } = splitAccount(address);
  return fetch(url, { ...init, headers: { ...headers, ...init.headers } });
};

/**
 * The answer of an engine as text, with the credentials that its address holds: a quarter of the processor time that fetch
 * takes, for what tests ask most.
 */
export const askEngine = async (
  address: string,
  body?: string,
): Promise<{ readonly status: number; readonly text: string }> => {
  const { url, headers } = splitAccount(address);
  const answer = await request(url, body === undefined ? { headers } : { method: 'POST', headers, body });
  return { status: answer.statusCode, text: await answer.body.text() };
};
