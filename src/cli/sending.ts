import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { reachableAt, type Settings } from '../config/settings.ts';
import { Fault } from '../model/fault.ts';
import { nowSeconds } from '../model/time.ts';
import { firstCauseText, isUnfound, type TlsTrouble, tlsTroubleOf } from '../model/tls-trouble.ts';
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

const certificatesRequired =
  'a receiver that requires certificates of clients (TIDEMARK_INGRESS_TLS_CLIENT_CA_FILE) takes nothing of a command, which has none';

const remedies: Readonly<Record<TlsTrouble, string>> = {
  untrusted: ': set TIDEMARK_ADMIN_CA_FILE to the certificate of its authority; it holds for receivers, too',
  plain: ': the port speaks no TLS, so begin the address with http://',
  certificate: `: ${certificatesRequired}`,
  cut: `: it may have restarted; if that port requires certificates, ${certificatesRequired}`,
};

const remedyOf = (url: string, error: unknown, option: string): string => {
  if (isUnfound(error)) return `: start tidemark ingress, or give the address of its receiver with ${option}`;
  const trouble = tlsTroubleOf(error);
  if (trouble === undefined) return '';
  if (url.startsWith('https:')) return remedies[trouble];
  return ': it may have restarted; if that port has TLS, begin the address with https://';
};

/**
 * The transient Fault `receiver_unreachable`: the cause with its remedy; without `error` there is none but silence. `option`: that of
 * the command for this address.
 */
export const receiverUnreachable = (url: string, option: string, error?: unknown): Fault => {
  const why = error === undefined ? '' : ` (${firstCauseText(error)})${remedyOf(url, error, option)}`;
  return new Fault('transient', 'receiver_unreachable', `no answer from ${url}${why}`, error);
};

/** A POST of JSON. Throws a transient Fault `receiver_unreachable`, which names the `option` of the command for this address. */
export const send = async (
  url: string,
  option: string,
  headers: Record<string, string>,
  body: object,
): Promise<Response> => {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(answerMs),
    });
  } catch (error) {
    throw receiverUnreachable(url, option, error);
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

const balancesSchema = z.object({
  items: z.array(
    z.object({ stored: z.number(), dead_lettered: z.number(), dropped: z.record(z.string(), z.number()) }),
  ),
});

type AccountOwner = { readonly data_id: number } | { readonly app_id: number };

/** Items by their outcome: `stored`, `dead-lettered`, or `dropped as <reason>`. */
type Outcomes = ReadonlyMap<string, number>;

const storedOutcome = 'stored';

const readOutcomes = async (client: AdminClient, owner: AccountOwner, since: number): Promise<Outcomes> => {
  const query = queryText({ ...owner, since });
  const { items } = (await client.ask(balancesSchema, 'GET', `/api/v1/outcomes${query}`)).value;
  const sums = new Map<string, number>();
  const add = (outcome: string, count: number): void =>
    void sums.set(outcome, (sums.get(outcome) ?? 0) + count);
  for (const { stored, dead_lettered: deadLettered, dropped } of items) {
    add(storedOutcome, stored);
    add('dead-lettered', deadLettered);
    for (const [reason, count] of Object.entries(dropped)) add(`dropped as ${reason}`, count);
  }
  return sums;
};

/** The account of an owner since it was opened: before an item is sent. What it counts may be items of another producer. */
export type SentAccount = {
  readonly owner: AccountOwner;
  /** Items that the account has counted since, by outcome. Throws the Faults of AdminClient. */
  counted(): Promise<Outcomes>;
};

/** Opens the account of an owner. Throws the Faults of AdminClient. */
export const openAccount = async (client: AdminClient, owner: AccountOwner): Promise<SentAccount> => {
  // One period for all readings: in a later one the items of its first minute would be missing.
  const since = nowSeconds() - hourSeconds;
  const before = await readOutcomes(client, owner, since);
  return {
    owner,
    counted: async () => {
      const found = [...(await readOutcomes(client, owner, since))];
      const more = found.map(([outcome, count]) => [outcome, count - (before.get(outcome) ?? 0)] as const);
      return new Map(more.filter(([, count]) => count > 0));
    },
  };
};

/** Whether the account has counted an item as stored since it was opened. */
export const hasStored = async (account: SentAccount): Promise<boolean> =>
  (await account.counted()).has(storedOutcome);

const ownerOption = (owner: AccountOwner): string =>
  'data_id' in owner ? `--data-id ${owner.data_id}` : `--app-id ${owner.app_id}`;

/** What the account has counted since it was opened, for the end of a wait; empty where it cannot be read. */
const countedText = async (account: SentAccount): Promise<string> => {
  const outcomes = await account.counted().catch(() => undefined);
  if (outcomes === undefined) return '';
  if (outcomes.size === 0) return '; the account has counted nothing of this owner since';
  const list = [...outcomes].map(([outcome, count]) => `${count} ${outcome}`).join(', ');
  const others = [...outcomes.keys()].some((outcome) => outcome !== storedOutcome);
  const option = ownerOption(account.owner);
  const remedy = others ? `: see tidemark drops ${option}, and tidemark dlq list ${option}` : '';
  return `; since it was sent the account counts of this owner: ${list}${remedy}`;
};

/**
 * Waits for the row of an item that was sent, as `waitForStore` does. Where the time ends without it, the Fault `not_in_time` says
 * what the account has counted of the owner meanwhile, and `known`: what else may have become of the item.
 */
export const waitForRow = (
  account: SentAccount,
  timeoutMs: number,
  check: () => Promise<boolean>,
  known = '',
): Promise<void> =>
  waitForStore('the row is visible', timeoutMs, check).catch(async (error: unknown) => {
    if (!(error instanceof Fault) || error.code !== 'not_in_time') throw error;
    const why = `${known === '' ? '' : `; ${known}`}${await countedText(account)}`;
    throw new Fault('transient', error.code, `${error.message}${why}`, error);
  });

/** Outcomes may come later than rows: every 20 s, or once a backup has ended. */
const notYetRecorded = (error: Fault): Fault =>
  new Fault(
    'transient',
    'outcome_not_yet',
    `stored; its outcome is not recorded yet (${error.message})`,
    error,
  );

/**
 * The last stage: the account counts more items of the owner as stored than when it was opened. The stage throws `not_in_time`, with
 * what the account has counted instead, or `outcome_not_yet` for an item that was seen in its store.
 */
export const accountStage = (account: SentAccount, timeoutMs: number): Stage => [
  'account',
  async (isSeen) => {
    await waitForStore('its outcome is recorded', timeoutMs, () => hasStored(account)).catch(
      async (error: unknown) => {
        if (!(error instanceof Fault) || error.code !== 'not_in_time') throw error;
        if (isSeen) throw notYetRecorded(error);
        throw new Fault('transient', error.code, `${error.message}${await countedText(account)}`, error);
      },
    );
    const what = isSeen ? 'stored' : 'the account has counted an item of this owner';
    return `${what}; see tidemark ledger ${ownerOption(account.owner)}`;
  },
];
