import { readFileSync } from 'node:fs';
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import {
  type Authenticator,
  AuthorizationError,
  connect,
  createInbox,
  credsAuthenticator,
  type NatsConnection,
  type NodeConnectionOptions,
  PermissionViolationError,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node';
import type { NatsTarget } from '../config/settings.ts';
import { errorText, Fault } from '../model/fault.ts';
import { retry } from '../runtime/back-off.ts';
import { commandSender } from './command-sender.ts';
import { dialEachOnceAtFirst } from './dial-each-once.ts';
import { createDialPauses, type DialPauses } from './dial-pauses.ts';
import { notPermittedText } from './nats-fault.ts';
import { inboxPrefixOf } from './nats-users.ts';
import type { Command } from './publish-command.ts';
import { gatherMessagesInPlace } from './roomy-parser.ts';
import { sizeLimitAsker } from './size-limit.ts';
import { createWatchTroubles, type WatchTroubles } from './watch-troubles.ts';

gatherMessagesInPlace();
dialEachOnceAtFirst();

/** A connection to NATS that reconnects by itself, and calls listeners at each loss and return. */
export type Bus = {
  readonly nc: NatsConnection;
  /** Sends a command whose bytes do not change until the server has them. Throws a Fault when it cannot be sent. */
  sendCommand(command: Command): void;
  /** Resolves once `max_payload` of the server is known as it was at most ten seconds ago, or the server does not answer. */
  askSizeMax(): Promise<void>;
  /** The number of copies of a bucket; undefined leaves it unchanged. */
  readonly replicas: number | undefined;
  readonly js: JetStreamClient;
  /** The same one each time. Its calls throw errors of the client: `toFault` maps them. */
  manager(): Promise<JetStreamManager>;
  readonly connected: boolean;
  /** What NATS refused to this user last; undefined while nothing was refused. */
  readonly refused: string | undefined;
  /** That NATS does not accept the user, while there is no connection for that reason. */
  readonly notAccepted: string | undefined;
  /** Receives each subject that this user may not publish to, as the server refuses it. */
  onRefused(listener: (subject: string) => void): void;
  /** The watches of buckets that fail. */
  readonly watchTroubles: WatchTroubles;
  /** A new subject that only answers for this user come to. */
  inbox(): string;
  /** When the connection was lost, ms of `performance.now()`; undefined while connected. */
  readonly disconnectedSince: number | undefined;
  onDisconnect(listener: () => void): void;
  onReconnect(listener: () => void): void;
  /** Sends buffered commands and closes; the listeners are not called. */
  close(): Promise<void>;
};

/**
 * The credentials of a file, read at each connection: they are renewed while roles run. The last ones stay in use while the file
 * cannot be used, as while it is being replaced: the client closes a connection for ever without an answer from here.
 */
const readAgain = (read: () => Authenticator, first?: Authenticator): Authenticator => {
  let last = first;
  return (nonce) => {
    try {
      const now = read();
      const answer = now(nonce);
      last = now;
      return answer;
    } catch (error) {
      if (last === undefined) throw error;
      return last(nonce);
    }
  };
};

/** The servers of a URL list; user, password, token and scheme are those of the first. */
const urlsOf = (text: string): URL[] => text.split(',').map((url) => new URL(url));

/** Undefined where the address has no user. */
const accountOf = (url: URL | undefined): Authenticator | undefined => {
  if (url === undefined || url.username === '') return undefined;
  const username = decodeURIComponent(url.username);
  return url.password === ''
    ? tokenAuthenticator(username)
    : usernamePasswordAuthenticator(username, decodeURIComponent(url.password));
};

/** Throws an Error where the file has no address with a user, as when half of it is written. */
const accountIn = (file: string): Authenticator => {
  const account = accountOf(urlsOf(readFileSync(file, 'utf8').trim())[0]);
  if (account === undefined) throw new Error(`no user in the address in ${file}`);
  return account;
};

const noAccount: Authenticator = () => undefined;

const authenticatorOf = ({ credentialsFile, urlFile }: NatsTarget, url: URL): Authenticator => {
  if (credentialsFile !== undefined)
    return readAgain(() => credsAuthenticator(readFileSync(credentialsFile)));
  const account = accountOf(url) ?? noAccount;
  return urlFile === undefined ? account : readAgain(() => accountIn(urlFile), account);
};

const notAcceptedText = ({ servers }: NodeConnectionOptions): string =>
  `NATS at ${servers} does not accept the user: check TIDEMARK_NATS_URL and TIDEMARK_NATS_CREDENTIALS_FILE`;

const optionsOf = (target: NatsTarget, name: string, pauses: DialPauses): NodeConnectionOptions => {
  const urls = urlsOf(target.url);
  const [first] = urls;
  if (first === undefined)
    throw new Fault('permanent', 'config_invalid', 'no address of NATS is set: set TIDEMARK_NATS_URL');
  return {
    inboxPrefix: inboxPrefixOf(decodeURIComponent(first.username)),
    servers: urls.map(({ hostname, port }) => `${hostname}:${port || 4222}`),
    name,
    maxReconnectAttempts: -1,
    // By default two refusals in the life of a connection, however far apart, close it for ever.
    ignoreAuthErrorAbort: true,
    reconnectDelayHandler: pauses.next,
    reconnectToServer: (servers) => {
      pauses.dialled(servers.length);
      return null;
    },
    pingInterval: 5_000,
    maxPingOut: 2,
    timeout: 2_000,
    authenticator: authenticatorOf(target, first),
    ...(first.protocol === 'tls:'
      ? { tls: target.caFile === undefined ? {} : { caFile: target.caFile } }
      : {}),
  };
};

const connectFault = (options: NodeConnectionOptions, error: unknown): Fault =>
  error instanceof AuthorizationError
    ? new Fault('transient', 'nats_unauthorized', notAcceptedText(options), error)
    : new Fault(
        'transient',
        'nats_unreachable',
        `no answer from NATS at ${options.servers}: ${errorText(error)}`,
        error,
      );

const dial = (options: NodeConnectionOptions): Promise<NatsConnection> =>
  connect(options).catch((error: unknown) => {
    throw connectFault(options, error);
  });

/**
 * Connects to one of the servers at `target`, or at a plain address. User, password, token and scheme are those of the first
 * address. Throws a transient Fault when none answers now; afterwards, a lost connection is retried for ever, with any server of
 * the cluster, also while it refuses the user.
 */
export const connectBus = async (target: NatsTarget | string, name: string): Promise<Bus> => {
  const to = typeof target === 'string' ? { url: target } : target;
  const pauses = createDialPauses();
  const options = optionsOf(to, name, pauses);
  const nc = await dial(options);
  const disconnectListeners: (() => void)[] = [];
  const reconnectListeners: (() => void)[] = [];
  let disconnectedSince: number | undefined;
  const refusedListeners: ((subject: string) => void)[] = [];
  let refused: string | undefined;
  let notAccepted: string | undefined;
  let closing = false;
  const follow = async (): Promise<void> => {
    for await (const status of nc.status()) {
      if (closing) continue;
      if (status.type === 'disconnect' && disconnectedSince === undefined) {
        disconnectedSince = performance.now();
        for (const listener of disconnectListeners) listener();
      }
      if (status.type === 'error' && status.error instanceof PermissionViolationError) {
        refused = notPermittedText(status.error);
        if (status.error.operation === 'publish')
          for (const listener of refusedListeners) listener(status.error.subject);
      }
      if (status.type === 'error' && status.error instanceof AuthorizationError) {
        pauses.refused();
        notAccepted = notAcceptedText(options);
      }
      // After refused tries the client reports one return for each of them.
      if (status.type === 'reconnect' && disconnectedSince !== undefined) {
        disconnectedSince = undefined;
        // Rights may be others now.
        refused = undefined;
        notAccepted = undefined;
        pauses.returned();
        for (const listener of reconnectListeners) listener();
      }
    }
  };
  void follow();
  const askSizeMax = sizeLimitAsker(nc, options);
  // Without its check of the account: the first request says where JetStream is off.
  const manager = jetstreamManager(nc, { checkAPI: false });
  return {
    nc,
    sendCommand: commandSender(nc, askSizeMax),
    askSizeMax,
    replicas: to.replicas,
    js: jetstream(nc),
    manager: () => manager,
    get connected() {
      return disconnectedSince === undefined && !nc.isClosed();
    },
    get refused() {
      return refused;
    },
    get notAccepted() {
      return disconnectedSince === undefined ? undefined : notAccepted;
    },
    onRefused: (listener) => void refusedListeners.push(listener),
    watchTroubles: createWatchTroubles(),
    inbox: () => createInbox(options.inboxPrefix),
    get disconnectedSince() {
      return disconnectedSince;
    },
    onDisconnect: (listener) => void disconnectListeners.push(listener),
    onReconnect: (listener) => void reconnectListeners.push(listener),
    close: async () => {
      closing = true;
      if (disconnectedSince === undefined) await nc.drain().catch(() => undefined);
      await nc.close();
    },
  };
};

const connectPauseMs = 200;

/** Connects as soon as a server answers, trying every 200 ms until `signal` fires; `onWait` gets the fault of each try. */
export const connectBusWhenUp = (
  target: NatsTarget | string,
  name: string,
  signal: AbortSignal,
  onWait: (fault: unknown) => void,
): Promise<Bus> =>
  retry(() => connectBus(target, name), {
    firstMs: connectPauseMs,
    mostMs: connectPauseMs,
    signal,
    onFailure: onWait,
  });
