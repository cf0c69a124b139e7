// The JavaScript exporter over gRPC, for the SDK of the caller.
import { Metadata } from '@grpc/grpc-js';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc';

export const createExporter = ({ url, token }) => {
  const metadata = new Metadata();
  metadata.set('x-mon-token', token);
  return new OTLPTraceExporter({ url, metadata });
};
