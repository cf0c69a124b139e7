import type { Server } from 'node:http';
import type { Incoming } from '../../http/incoming.ts';
import { createReceiverServer, type Listening, type Route } from '../http/receiver-server.ts';
import type { ReasonLinks } from '../reason-links.ts';
import type { RefusalRecorder } from '../refusal-recorder.ts';
import { Refused } from '../refused.ts';
import { isRemoteWrite, remoteWriteHint, replyEncodingOf } from './handler.ts';
import { refusedReply } from './refusal.ts';
import type { OtlpSignal } from './signals.ts';

/** On every answer, errors included: a page must see the reason of a refusal, not a network error. */
const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Retry-After, RateLimit, RateLimit-Policy, X-Request-Id, traceresponse',
} as const;

const preflightHeaders = (tokenHeaders: readonly string[]) =>
  ({
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers': [
      ...['Content-Type', 'Content-Encoding', 'Authorization'],
      ...tokenHeaders.map((name) => name.toUpperCase()),
      ...['traceparent', 'tracestate', 'baggage'],
    ].join(', '),
    'Access-Control-Max-Age': '7200',
  }) as const;

/** How the requests of one signal are answered. */
export type OtlpDoor = { readonly signal: OtlpSignal } & Pick<Route, 'handle' | 'recorder'>;

/** Of remote write to the path that Prometheus has for it, the remedy is not another path. */
const hinted = (refused: Refused, request: Incoming): Refused =>
  refused.reason === 'path_unknown' && isRemoteWrite(request)
    ? new Refused('path_unknown', remoteWriteHint)
    : refused;

/**
 * The receiver of OTLP over HTTP (OTLP/HTTP; specification 4.2), with a path for each signal. `recorder` takes what belongs to none of
 * them.
 */
export const createOtlpServer = (
  doors: readonly OtlpDoor[],
  listening: Listening,
  recorder: RefusalRecorder,
  tokenHeaders: readonly string[],
  links: ReasonLinks,
  onDefect: (error: unknown) => void,
): Server =>
  createReceiverServer(
    {
      name: 'otlp',
      routes: doors.map(({ signal: { path }, handle, recorder: own }) => ({
        paths: [path, `${path}/`],
        wrongMethod: path,
        handle,
        recorder: own,
      })),
      // Where no request could be read, no Content-Type is known: JSON.
      refuse: (refused, request) =>
        request === undefined
          ? refusedReply('json', refused, links)
          : refusedReply(replyEncodingOf(request), hinted(refused, request), links),
      retries408: false,
      http2Remedy:
        'send gRPC to its own port, 4317 by default, or OTLP over HTTP (OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf)',
      defect: new Refused('internal'),
      headers: corsHeaders,
      preflight: preflightHeaders(tokenHeaders),
    },
    listening,
    recorder,
    onDefect,
  );
