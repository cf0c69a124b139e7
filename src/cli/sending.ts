import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { reachableAt, type Settings } from '../config/settings.ts';
import { Fault } from '../model/fault.ts';
import { nowSeconds } from '../model/time.ts';
import type { AdminClient } from './client.ts';
import { queryText } from './options.ts';
import { runningReceivers } from './running-stack.ts';
import type { Stage } from './stations.ts';

const pollMs = 25;
const answerMs = 15_000;

/** Asks until it is so. Throws a transient Fault `not_in_time` that names what was waited for. */
export const waitUntil = async (
  what: string,
  timeoutMs: number,
  check: () => Promise<boolean>,
): Promise<void> => {
  const deadline = performance.now() + timeoutMs;
  while (!(await check())) {
    if (performance.now() > deadline) {
      throw new Fault('transient', 'not_in_time', `timeout: ${what}, not within ${timeoutMs / 1000} s`);
    }
    await delay(pollMs);
  }
};

/**
 * The same of what a store has: a transient Fault is not yet an answer, as while an engine starts again. The last one is named where
 * the time ends with it.
 */
export const waitForStore = async (
  what: string,
  timeoutMs: number,
  check: () => Promise<boolean>,
): Promise<void> => {
  let last: Fault | undefined;
  const checkOnce = async (): Promise<boolean> => {
    try {
      const isSo = await check();
      last = undefined;
      return isSo;
    } catch (error) {
      if (!(error instanceof Fault) || error.kind !== 'transient') throw error;
      last = error;
      return false;
    }
  };
  try {
    await waitUntil(what, timeoutMs, checkOnce);
  } catch (error) {
    if (last === undefined || !(error instanceof Fault)) throw error;
    throw new Fault('transient', error.code, `${error.message}; the last answer: ${last.message}`, last);
  }
};

/** The write token in both places: a deployment may have given its header another name. */
export const tokenHeaders = (token: string) => ({ 'x-mon-token': token, authorization: `Bearer ${token}` });

/** A POST of JSON. Throws a transient Fault `receiver_unreachable`. */
export const send = async (url: string, headers: Record<string, string>, body: object): Promise<Response> => {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(answerMs),
    });
  } catch (error) {
    throw new Fault('transient', 'receiver_unreachable', `no answer from ${url}`, error);
  }
};

const requireHttp = (url: string): void => {
  if (/^https?:\/\/[^/]/.test(url) && URL.canParse(url)) return;
  throw new Fault(
    'permanent',
    'wrong_words',
    `the address ${JSON.stringify(url)} of a receiver must be like http://host:port: begin it with http:// or https://`,
  );
};

/**
 * The addresses of receivers that options of a command give; without them those of the running `tidemark up` on the data folder, else
 * the local ones of the settings.
 */
export const receiverUrls = (
  settings: Settings,
  { pushUrl, otlpUrl, grpcUrl }: Readonly<Partial<Record<'pushUrl' | 'otlpUrl' | 'grpcUrl', string>>>,
): { readonly pushUrl: string; readonly otlpUrl: string; readonly grpcUrl: string | undefined } => {
  const { tlsCertFile, pushHost, otlpHost, pushPort, otlpPort, grpcPort } = settings.ingress;
  const at = (host: string, port: number): string =>
    `${tlsCertFile === undefined ? 'http' : 'https'}://${reachableAt(host)}:${port}`;
  const running = runningReceivers(settings);
  const settled = grpcPort === undefined ? undefined : at(otlpHost, grpcPort);
  const localGrpc = running?.grpc_url === undefined ? settled : (running.grpc_url ?? undefined);
  const withoutSlash = (url: string): string => url.replace(/\/$/, '');
  for (const url of [pushUrl, otlpUrl]) if (url !== undefined) requireHttp(url);
  return {
    // The banner of `tidemark up` shows the address with its path.
    pushUrl: withoutSlash(pushUrl ?? running?.push_url ?? at(pushHost, pushPort)).replace(/\/v2\/push$/, ''),
    otlpUrl: withoutSlash(otlpUrl ?? running?.otlp_url ?? at(otlpHost, otlpPort)),
    // Beside a receiver elsewhere the local one would be another.
    grpcUrl: grpcUrl ?? (otlpUrl === undefined ? localGrpc : undefined),
  };
};

const hourSeconds = 3_600;

const balancesSchema = z.object({ items: z.array(z.object({ stored: z.number() })) });

type AccountOwner = { readonly data_id: number } | { readonly app_id: number };

/** Items since then that the account has as stored. */
const storedInAccount = async (client: AdminClient, owner: AccountOwner, since: number): Promise<number> => {
  const query = queryText({ ...owner, since });
  const { items } = (await client.ask(balancesSchema, 'GET', `/api/v1/outcomes${query}`)).value;
  return items.reduce((sum, { stored }) => sum + stored, 0);
};

/** Outcomes may come later than rows: every 20 s, or once a backup has ended. */
const notYetRecorded = (error: Fault): Fault =>
  new Fault(
    'transient',
    'outcome_not_yet',
    `stored; its outcome is not recorded yet (${error.message})`,
    error,
  );

/**
 * The last stage: the account counts more items of the owner as stored than when this was called, so call it before the
 * item is sent. The stage throws `not_in_time`, or `outcome_not_yet` for an item that was seen in its store.
 */
export const accountStage = async (
  client: AdminClient,
  owner: AccountOwner,
  timeoutMs: number,
): Promise<Stage> => {
  // One period for all readings: in a later one the items of its first minute would be missing.
  const since = nowSeconds() - hourSeconds;
  const before = await storedInAccount(client, owner, since);
  const named = 'data_id' in owner ? `--data-id ${owner.data_id}` : `--app-id ${owner.app_id}`;
  return [
    'account',
    async (isSeen) => {
      const isCounted = async () => (await storedInAccount(client, owner, since)) > before;
      await waitForStore('its outcome is recorded', timeoutMs, isCounted).catch((error: unknown) => {
        throw isSeen && error instanceof Fault && error.code === 'not_in_time'
          ? notYetRecorded(error)
          : error;
      });
      const what = isSeen ? 'stored' : 'the account has counted an item of this owner';
      return `${what}; see tidemark ledger ${named}`;
    },
  ];
};
