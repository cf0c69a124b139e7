import type { ServerHttp2Stream } from 'node:http2';
import { noHeaders } from '../refused.ts';
import { answerMessage, answerStatus, openMessages } from './answer.ts';
import { prefixBytes, prefixOf } from './frame.ts';
import { codes, type GrpcStatus } from './status.ts';

export const healthPaths = {
  check: '/grpc.health.v1.Health/Check',
  watch: '/grpc.health.v1.Health/Watch',
} as const;

/** grpc.health.v1.HealthCheckResponse.ServingStatus. */
const serving = { yes: 1, no: 2, unknownService: 3 } as const;
type Serving = (typeof serving)[keyof typeof serving];

/** A HealthCheckRequest is the name of a service. */
const requestBytesMax = 1024;
/** Until the request of a call has arrived, ms. */
const requestMs = 10_000;
/** Watching calls of the process; they hold memory for as long as their clients want. */
export const watchersMax = 1000;
const lookMs = 500;

const wrong: GrpcStatus = {
  code: codes.invalidArgument,
  message: 'the message is not a HealthCheckRequest of one service name',
};
const unknown: GrpcStatus = { code: codes.notFound, message: 'there is no such service here' };
const tooMany: GrpcStatus = { code: codes.resourceExhausted, message: 'too many calls watch the health' };
const ending: GrpcStatus = {
  code: codes.unavailable,
  message: 'the connection ends: watch over another one',
};

const responseOf = (status: Serving): Uint8Array => Uint8Array.from([1 << 3, status]);

/** The name of the service in a HealthCheckRequest (field 1); undefined for anything else. */
const serviceOf = (message: Buffer): string | undefined => {
  if (message.length === 0) return '';
  const length = message[1] ?? 0;
  if (message[0] !== 0x0a || length >= 0x80 || message.length !== 2 + length) return undefined;
  return message.subarray(2).toString();
};

/** The service that a call asks for; undefined for a call that is none, null when the client has gone. */
const readService = (stream: ServerHttp2Stream): Promise<string | undefined | null> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => resolve(undefined), requestMs);
    timer.unref();
    stream
      .on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > requestBytesMax) resolve(undefined);
        else chunks.push(chunk);
      })
      .once('end', () => {
        clearTimeout(timer);
        if (stream.aborted) return resolve(null);
        const bytes = Buffer.concat(chunks);
        if (bytes.length < prefixBytes) return resolve(undefined);
        const { flags, length } = prefixOf(bytes);
        const message = bytes.subarray(prefixBytes);
        resolve(flags === 0 && message.length === length ? serviceOf(message) : undefined);
      })
      .once('close', () => {
        clearTimeout(timer);
        resolve(null);
      });
  });

/** The end of the connection of a call, which ends the call. */
type Ending = { readonly onEnding: Set<() => void> };

export type HealthDependencies = {
  /** The services that are served beside the whole, which has the empty name. */
  readonly services: ReadonlySet<string>;
  /** Why the receiver can accept nothing now, or undefined. */
  readonly unready: () => string | undefined;
};

/** grpc.health.v1.Health: the state of the receiver, without a credential, for probes and for clients that balance. */
export type Health = {
  /** Answers the state now. */
  check(stream: ServerHttp2Stream): Promise<void>;
  /** Answers the state now and after each change, until the client or the connection ends. */
  watch(stream: ServerHttp2Stream, connection: Ending): Promise<void>;
  /** From now on nothing is served: the receiver stops. */
  stop(): void;
};

export const createHealth = ({ services, unready }: HealthDependencies): Health => {
  const watchers = new Set<() => void>();
  let isStopping = false;
  let timer: NodeJS.Timeout | undefined;

  const stateOf = (service: string): Serving => {
    if (service !== '' && !services.has(service)) return serving.unknownService;
    return isStopping || unready() !== undefined ? serving.no : serving.yes;
  };
  const lookAll = (): void => {
    for (const look of watchers) look();
  };
  const follow = (look: () => void): (() => void) => {
    watchers.add(look);
    timer ??= setInterval(lookAll, lookMs);
    timer.unref();
    return () => {
      watchers.delete(look);
      if (watchers.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  };

  const startWatch = (stream: ServerHttp2Stream, service: string, { onEnding }: Ending): void => {
    const messages = openMessages(stream);
    let told: Serving | undefined;
    const look = (): void => {
      const state = stateOf(service);
      // A client that does not read gets the next state once it does.
      if (state !== told && messages.send(responseOf(state))) told = state;
    };
    const end = (): void => messages.end(ending);
    look();
    const unfollow = follow(look);
    onEnding.add(end);
    stream.once('close', () => {
      unfollow();
      onEnding.delete(end);
    });
  };

  return {
    check: async (stream) => {
      const service = await readService(stream);
      if (service === null) return;
      if (service === undefined) return answerStatus(stream, wrong, noHeaders);
      const state = stateOf(service);
      if (state === serving.unknownService) answerStatus(stream, unknown, noHeaders);
      else answerMessage(stream, responseOf(state), noHeaders);
    },
    watch: async (stream, connection) => {
      const service = await readService(stream);
      if (service === null || stream.destroyed) return;
      if (service === undefined) answerStatus(stream, wrong, noHeaders);
      else if (watchers.size >= watchersMax) answerStatus(stream, tooMany, noHeaders);
      else startWatch(stream, service, connection);
    },
    stop: () => {
      isStopping = true;
      lookAll();
    },
  };
};
