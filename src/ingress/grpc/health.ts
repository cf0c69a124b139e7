import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Peer } from '../../http/incoming.ts';
import { ByteSource } from '../../wire/native/bytes.ts';
import { ProtobufCursor } from '../../wire/otlp/protobuf-cursor.ts';
import { MalformedBody } from '../../wire/otlp/types.ts';
import { type BytesInFlight, createBytesInFlight } from '../http/admission.ts';
import { readBody, refusedBody } from '../http/body.ts';
import type { ReasonLinks } from '../reason-links.ts';
import { noHeaders, Refused } from '../refused.ts';
import { answerMessage, answerStatus, openMessages } from './answer.ts';
import { type CallLimits, openRequest } from './call.ts';
import { codes, type GrpcStatus, statusOf } from './status.ts';
import type { WaitingCalls } from './waiting-calls.ts';

export const healthPaths = {
  check: '/grpc.health.v1.Health/Check',
  watch: '/grpc.health.v1.Health/Watch',
} as const;

/** grpc.health.v1.HealthCheckResponse.ServingStatus. */
const serving = { yes: 1, no: 2, unknownService: 3 } as const;
type Serving = (typeof serving)[keyof typeof serving];

/** A HealthCheckRequest is the name of a service. */
const requestBytesMax = 1024;
const requestLimits = {
  bodyBytesMax: requestBytesMax,
  inflatedBytesMax: requestBytesMax,
  inflateRatioMax: 1000,
};
/** Requests that arrive: they never wait for the bodies of exports. */
const inFlightBytesMax = 2 ** 20;
/** Until the request of a call has arrived, ms. */
const requestMs = 10_000;
/** Watching calls of the process; they hold memory for as long as their clients want. */
export const watchersMax = 1000;
const lookMs = 500;

const wrong: GrpcStatus = {
  code: codes.invalidArgument,
  message: 'the message is not a HealthCheckRequest',
};
const unknown: GrpcStatus = { code: codes.notFound, message: 'there is no such service here' };
const tooMany: GrpcStatus = { code: codes.resourceExhausted, message: 'too many calls watch the health' };
const ending: GrpcStatus = {
  code: codes.unavailable,
  message: 'the connection ends: watch over another one',
};

const responseOf = (status: Serving): Uint8Array => Uint8Array.from([1 << 3, status]);

const serviceTag = (1 << 3) | 2;

/** The name of the service in a HealthCheckRequest (field 1). Throws MalformedBody. */
const serviceOf = (message: Buffer): string => {
  const cursor = new ProtobufCursor(new ByteSource(message));
  const end = message.length;
  let service = '';
  while (cursor.at < end) {
    const tag = cursor.tag();
    if (tag !== serviceTag) {
      cursor.skip(tag, end);
      continue;
    }
    const stop = cursor.enter(end);
    service = message.toString('utf8', cursor.at, stop);
    cursor.at = stop;
  }
  cursor.expectEnd(end);
  return service;
};

/** The service that a call asks for; undefined when the client has gone. Rejects with Refused or MalformedBody. */
const readService = async (
  { stream, headers, peer }: HealthCall,
  inFlight: BytesInFlight,
  limits: CallLimits,
): Promise<string | undefined> => {
  const request = await openRequest(stream, headers, peer, limits, requestBytesMax);
  if (request === undefined) return undefined;
  const body = await readBody(request, requestLimits, inFlight);
  if ('reason' in body) {
    if (body.reason === 'aborted') return undefined;
    throw body instanceof Refused ? body : refusedBody(body);
  }
  body.release();
  return serviceOf(body.bytes);
};

/** The end of the connection of a call, which ends the call. */
type Ending = { readonly onEnding: Set<() => void>; readonly isEnding: boolean };

/** A call of the service. */
export type HealthCall = {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly peer: Peer;
};

export type HealthDependencies = {
  /** The services that are served beside the whole, which has the empty name. */
  readonly services: ReadonlySet<string>;
  /** Why the receiver can accept nothing now, or undefined. */
  readonly unready: () => string | undefined;
  readonly links: ReasonLinks;
  readonly waiting: WaitingCalls;
};

/** grpc.health.v1.Health: the state of the receiver, without a credential, for probes and for clients that balance. */
export type Health = {
  /** Answers the state now. */
  check(call: HealthCall): Promise<void>;
  /** Answers the state now and after each change, until the client or the connection ends. */
  watch(call: HealthCall, connection: Ending): Promise<void>;
  /** From now on nothing is served: the receiver stops. */
  stop(): void;
};

export const createHealth = ({ services, unready, links, waiting }: HealthDependencies): Health => {
  const inFlight = createBytesInFlight(inFlightBytesMax, () => {});
  const limits = { headersTimeoutMs: requestMs, requestTimeoutMs: requestMs, waiting };
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
    timer ??= setInterval(lookAll, lookMs).unref();
    return () => {
      watchers.delete(look);
      if (watchers.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  };

  const startWatch = (stream: ServerHttp2Stream, service: string, connection: Ending): void => {
    const messages = openMessages(stream);
    let told: Serving | undefined;
    const look = (): void => {
      const state = stateOf(service);
      // A client that does not read gets the next state once it does.
      if (state !== told && messages.send(responseOf(state))) told = state;
    };
    const end = (): void => messages.end(ending);
    look();
    // The message came after the notice of the end, which calls nothing a second time.
    if (connection.isEnding) return end();
    const unfollow = follow(look);
    connection.onEnding.add(end);
    stream.once('close', () => {
      unfollow();
      connection.onEnding.delete(end);
    });
  };

  /** Answers a call for the service that it asks for. */
  const answer = async (call: HealthCall, withService: (service: string) => void): Promise<void> => {
    try {
      const service = await readService(call, inFlight, limits);
      if (service !== undefined && !call.stream.destroyed) withService(service);
    } catch (error) {
      if (error instanceof MalformedBody) answerStatus(call.stream, wrong, noHeaders);
      else if (error instanceof Refused) answerStatus(call.stream, statusOf(error, links), error.headers);
      else throw error;
    }
  };

  return {
    check: (call) =>
      answer(call, (service) => {
        const state = stateOf(service);
        if (state === serving.unknownService) answerStatus(call.stream, unknown, noHeaders);
        else answerMessage(call.stream, responseOf(state), noHeaders);
      }),
    watch: (call, connection) =>
      answer(call, (service) => {
        if (watchers.size >= watchersMax) answerStatus(call.stream, tooMany, noHeaders);
        else startWatch(call.stream, service, connection);
      }),
    stop: () => {
      isStopping = true;
      lookAll();
    },
  };
};
