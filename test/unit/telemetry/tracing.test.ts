import { execFileSync } from 'node:child_process';
import type { IncomingMessage } from 'node:http';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRequestTraces } from '../../../src/ingress/request-traces.ts';
import { openTracing } from '../../../src/telemetry/open-tracing.ts';
import { ownSpansMark, type SpanStart, type TraceSpan } from '../../../src/telemetry/tracing.ts';

const root = resolve(import.meta.dirname, '../../..');
const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/**
 * The packages of OpenTelemetry that a process has loaded once its roles run and tracing was opened with this address.
 */
const loadedWith = (url: string): string[] => {
  const program = `
    import { registerHooks } from 'node:module';
    const loaded = new Set();
    registerHooks({ load: (url, context, next) => {
      const name = /node_modules\\/(@opentelemetry\\/[^/]+)/.exec(url)?.[1];
      if (name !== undefined) loaded.add(name);
      return next(url, context);
    } });
    await import('./src/ingress/ingress.ts');
    await import('./src/transfer/transfer.ts');
    const { openTracing } = await import('./src/telemetry/open-tracing.ts');
    const tracing = { url: ${url === '' ? 'undefined' : JSON.stringify(url)}, headers: undefined, sampleRatio: 1 };
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const opened = await openTracing({ tracing }, 'test', log);
    console.log(JSON.stringify([opened !== undefined, ...loaded]));
    process.exit();`;
  const text = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { cwd: root });
  const [isOpen, ...names]: [boolean, ...string[]] = JSON.parse(String(text));
  expect(isOpen).toBe(url !== '');
  return names;
};

describe('tracing', () => {
  // A deployment without tracing must not pay for it, in memory or in time.
  it('that is off loads no package', () => {
    // prom-client brings this one by itself.
    expect(loadedWith('').filter((name) => name !== '@opentelemetry/api')).toEqual([]);
    expect(loadedWith('http://127.0.0.1:1')).toContain('@opentelemetry/sdk-trace');
  }, 60_000);

  it.each(['', 'X-MON-TOKEN', '=x', 'a b=c', 'a=%zz', 'a=1,,b=2'])(
    'refuses invalid headers, without showing them: %j',
    async (headers) => {
      const tracing = { url: 'http://127.0.0.1:1', headers, sampleRatio: 1 };
      await expect(openTracing({ tracing }, 'test', log)).rejects.toThrow(
        /^TIDEMARK_TRACING_HEADERS: it is not a list like name=value/,
      );
    },
  );
});

/** A double of the SDK's side: every trace is sampled, and what has ended is kept. */
const recording = () => {
  const ended: { name: string; start: SpanStart; failure: string | undefined }[] = [];
  let current: TraceSpan | undefined;
  const start = (name: string, begin: SpanStart): TraceSpan => ({
    traceId: 'id',
    traceparent: `traceparent of ${name}`,
    set: () => {},
    link: () => {},
    end: (failure) => {
      ended.push({ name, start: begin, failure });
    },
  });
  const within = <T>(span: TraceSpan, work: () => T): T => {
    current = span;
    return work();
  };
  const nothing = (): Promise<void> => Promise.resolve();
  return { ended, tracing: { start, within, current: () => current, flush: nothing, stop: nothing } };
};

const reply = { status: 200, headers: {} };
const request = (): IncomingMessage => Object.assign(Object.create(null), { headers: {} });

describe('spans of requests', () => {
  it('end with a request that fails inside, too', async () => {
    const { ended, tracing } = recording();
    const traces = createRequestTraces(tracing);
    const handle = traces.around('/v2/push/', () => {
      traces.sawBody(Buffer.from('{}'));
      return Promise.reject(new Error('inside'));
    });
    await expect(handle(request())).rejects.toThrow('inside');
    expect(ended).toMatchObject([{ name: 'POST /v2/push/', failure: 'an internal error' }]);
  });

  // Transfer would trace a message of Tidemark's own spans with a trace, and so on without end.
  it('are none for a body that holds spans of this program, and its messages carry no trace', async () => {
    for (const body of [`{"key":"${ownSpansMark}"}`, `\n\x15${ownSpansMark}\x12`]) {
      const { ended, tracing } = recording();
      const traces = createRequestTraces(tracing);
      const handle = traces.around('/v1/traces', () => {
        traces.sawBody(Buffer.from(body));
        expect(traces.publish('traces', [traces.current()], 1)).toBeUndefined();
        return Promise.resolve(reply);
      });
      expect(await handle(request())).toBe(reply);
      expect(ended).toEqual([]);
    }
  });

  it('are of the first request of a message that is traced', () => {
    const { tracing } = recording();
    const traces = createRequestTraces(tracing);
    const first = tracing.start('first', { kind: 'server' });
    expect(traces.publish('metrics', [undefined, first, undefined], 1)).toMatchObject({
      traceparent: 'traceparent of publish metrics',
    });
    expect(traces.publish('metrics', [undefined], 1)).toBeUndefined();
  });
});
