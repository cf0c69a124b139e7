import { otlpSignals } from '../../../src/ingress/otlp/signals.ts';

/** The method of gRPC that exports spans. */
export const traceExportPath = otlpSignals.traces.exportPath;
