import { DiagLogLevel, diag } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { onTestFinished } from 'vitest';
import { createSdk, rowOfSdk } from '../otlp/sdk-spans.ts';
import type { RunningClient, Target } from './process.ts';

/** ExportResultCode.SUCCESS of @opentelemetry/core, which is not a dependency of Tidemark. */
const success = 0;

/** The JavaScript SDK of this process with one of its exporters; it ends with the test. */
export const startJavascript = (
  makeExporter: (target: Target) => SpanExporter,
  target: Target,
): RunningClient => {
  const exporter = makeExporter(target);
  let told: number[] = [];
  const telling: SpanExporter = {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        told.push(result.code);
        done(result);
      }),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  };
  let logged = '';
  const log = (...parts: readonly unknown[]): void => {
    logged += `${parts.map(String).join(' ')}\n`;
  };
  diag.setLogger(
    { error: log, warn: log, info: () => {}, debug: () => {}, verbose: () => {} },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const sdk = createSdk(telling, 4096, 7);
  onTestFinished(async () => {
    await sdk.provider.shutdown();
    diag.disable();
  });
  return {
    export: async ({ first, count, attributes = 0 }) => {
      told = [];
      sdk.make(first, count, attributes);
      // It rejects with the exporter's error, which the exporter has reported already.
      await sdk.provider.forceFlush({ timeoutMillis: 60_000 }).catch(log);
      const ok = told.length > 0 && told.every((code) => code === success);
      return { ok, rows: sdk.takeHeld().map(rowOfSdk) };
    },
    log: () => logged.replaceAll(target.token, '<token>'),
  };
};
