import { otlpSignals } from '../../../src/ingress/otlp/signals.ts';

/** The methods of gRPC that export spans, and log records. */
export const traceExportPath = otlpSignals.traces.exportPath;
export const logExportPath = otlpSignals.logs.exportPath;
