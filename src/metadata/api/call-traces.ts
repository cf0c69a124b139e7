import { randomUUID } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import type { Tracing } from '../../telemetry/tracing.ts';
import type { ApiEnv } from './env.ts';

/** Gives each call an id: its answer has it in X-Request-Id, and the log line of a defect, too. */
export const identifyCall: MiddlewareHandler<ApiEnv> = async (context, next) => {
  const requestId = randomUUID();
  context.set('requestId', requestId);
  await next();
  context.header('X-Request-Id', requestId);
};

/** Each sampled call of this endpoint in a span, which continues the trace of a `traceparent`; the answer names it in `traceresponse`. */
export const traceCall =
  (
    tracing: Tracing | undefined,
    { method, path }: { readonly method: string; readonly path: string },
  ): MiddlewareHandler<ApiEnv> =>
  async (context, next) => {
    const span = tracing?.start(`${method} ${path}`, {
      kind: 'server',
      parent: context.req.header('traceparent'),
      attributes: {
        'http.request.method': method,
        'http.route': path,
        'tidemark.request_id': context.get('requestId'),
      },
    });
    if (tracing === undefined || span === undefined) return next();
    try {
      await tracing.within(span, next);
    } finally {
      // An error of a handler has become its answer here.
      const { status } = context.res;
      span.set({ 'http.response.status_code': status });
      span.end(status >= 500 ? `status ${status}` : undefined);
    }
    context.header('traceresponse', span.traceparent);
  };
