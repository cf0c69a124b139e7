import { otlpSignals } from '../../../src/ingress/otlp/signals.ts';

/** The methods of gRPC that export spans, log records and data points. */
export const traceExportPath = otlpSignals.traces.exportPath;
export const logExportPath = otlpSignals.logs.exportPath;
export const metricExportPath = otlpSignals.otel_metrics.exportPath;
