import type { Settings } from '../../config/settings.ts';

/** Addresses of the receivers, as senders reach them, without a slash at the end. */
export type ReceiverUrls = {
  readonly push: string;
  readonly otlp: string;
  /** Undefined where there is no receiver over gRPC. */
  readonly grpc: string | undefined;
};

/** The same for a caller that reached the admin API under this host (`name` or `name:port`). */
export type Receivers = (host: string | undefined) => ReceiverUrls;

/** It becomes a part of commands that people copy: nothing that a shell or a quoted text takes for more than a name. */
const hostForm = /^(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9.-]{1,253})(?::\d{1,5})?$/;

const nameOf = (host: string | undefined): string => hostForm.exec(host ?? '')?.[1] ?? '127.0.0.1';

/** The addresses of the settings, else the host of the caller with the ports of the receivers. */
export const receiversOf =
  ({ ingress }: Pick<Settings, 'ingress'>): Receivers =>
  (host) => {
    const scheme = ingress.tlsCertFile === undefined ? 'http' : 'https';
    const at = (port: number): string => `${scheme}://${nameOf(host)}:${port}`;
    return {
      push: ingress.pushUrl ?? at(ingress.pushPort),
      otlp: ingress.otlpUrl ?? at(ingress.otlpPort),
      grpc: ingress.grpcUrl ?? (ingress.grpcPort === undefined ? undefined : at(ingress.grpcPort)),
    };
  };
