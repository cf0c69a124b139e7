import { connect, type IncomingHttpHeaders } from 'node:http2';
import { frameOf } from '../../ingress/grpc/frame.ts';
import { joined, lengthField, textField } from '../../ingress/otlp/reply.ts';
import { otlpSignals } from '../../ingress/otlp/signals.ts';
import { receiverUnreachable, tokenHeaders } from '../sending.ts';

/** A span of a trial: ids in hex, its beginning in nanoseconds. */
export type TrialSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly name: string;
  readonly service: string;
  readonly startNanos: bigint;
};

const fixed64Field = (field: number, value: bigint): Uint8Array => {
  const bytes = Buffer.alloc(9, (field << 3) | 1);
  bytes.writeBigUInt64LE(value, 1);
  return bytes;
};

/** An ExportTraceServiceRequest with one span of a millisecond. */
const requestOf = ({ traceId, spanId, name, service, startNanos }: TrialSpan): Uint8Array => {
  const span = joined(
    lengthField(1, Buffer.from(traceId, 'hex')),
    lengthField(2, Buffer.from(spanId, 'hex')),
    textField(5, name),
    fixed64Field(7, startNanos),
    fixed64Field(8, startNanos + 1_000_000n),
  );
  const attribute = joined(textField(1, 'service.name'), lengthField(2, textField(1, service)));
  const resource = lengthField(1, lengthField(1, attribute));
  return lengthField(1, joined(resource, lengthField(2, lengthField(2, span))));
};

/** As long as an answer of a receiver takes at most. */
const answerMs = 10_000;

/** The statuses that the answers have over HTTP: stored, no valid token, not now; 400 for every other refusal. */
const statuses: Readonly<Record<string, number>> = { 0: 200, 16: 401, 14: 503 };

const textOf = (value: string | string[] | undefined): string => String(value ?? '');

/** The end of a connection without a status of the call. */
const closed = (): Error => Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });

/** Exports a span over gRPC to this address. Answers what the answer is over HTTP; rejects with a Fault without one. */
export const exportOverGrpc = (url: string, token: string, span: TrialSpan): Promise<Response> =>
  new Promise((resolve, reject) => {
    const unreachable = (error?: unknown): void => {
      session.destroy();
      reject(receiverUnreachable(url, '--grpc-url', error));
    };
    const session = connect(url);
    session.once('error', unreachable);
    const call = session.request({
      ':method': 'POST',
      ':path': otlpSignals.traces.exportPath,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...tokenHeaders(token),
    });
    let last: IncomingHttpHeaders = {};
    const note = (fields: IncomingHttpHeaders): void => {
      last = { ...last, ...fields };
    };
    call.once('error', unreachable).on('response', note).on('trailers', note).resume();
    call.setTimeout(answerMs, () => unreachable());
    call.once('close', () => {
      session.destroy();
      const code = textOf(last['grpc-status']);
      if (code === '') unreachable(closed());
      else resolve(new Response(textOf(last['grpc-message']), { status: statuses[code] ?? 400 }));
    });
    call.end(frameOf(requestOf(span)));
  });
