import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { onTestFinished } from 'vitest';

/** What a client is to make and to export in one go: the items with these numbers. */
export type Batch = {
  readonly first: number;
  readonly count: number;
  /** This many more attributes on the first of them. */
  readonly attributes?: number;
};

/** The columns of an item by the client's own account of it, without the ids of its application. */
export type HeldRow = Readonly<Record<string, unknown>>;

/** A client's report of a batch: the items it made, and whether its exporter reported a success. */
export type Exported = { readonly ok: boolean; readonly rows: readonly HeldRow[] };

/** A real client with one exporter. */
export type RunningClient = {
  export(batch: Batch): Promise<Exported>;
  /** Everything it has logged so far, without its token. */
  log(): string;
};

/** Where a client exports to, and with what write token. */
export type Target = { readonly url: string; readonly token: string };

/**
 * The variables by which a user points an OpenTelemetry SDK at a receiver with any signal; its items may
 * have more attributes than the receiver takes.
 */
export const sdkEnvironment = ({ url, token }: Target): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: `X-MON-TOKEN=${token}`,
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_LOGS_HEADERS: `X-MON-TOKEN=${token}`,
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: `X-MON-TOKEN=${token}`,
  OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '1000',
  OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT: '1000',
  PYTHONDONTWRITEBYTECODE: '1',
});

/** Not readline: to that, U+2028 within a JSON text ends a line. */
async function* linesOf(stream: Readable): AsyncGenerator<string, undefined> {
  let rest = '';
  for await (const chunk of stream.setEncoding('utf8')) {
    const [first = '', ...others] = String(chunk).split('\n');
    rest += first;
    for (const other of others) {
      yield rest;
      rest = other;
    }
  }
}

/**
 * Starts a client program: it reads one batch a line and answers one line each (both JSON), and logs on its standard error. It
 * ends with the test.
 */
export const startClient = (
  command: string,
  args: readonly string[],
  target: Target,
  env: Readonly<Record<string, string>> = {},
): RunningClient => {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(command, args, { env: { PATH, HOME, ...sdkEnvironment(target), ...env } });
  let logged = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    logged += text;
  });
  const log = (): string => logged.replaceAll(target.token, '<token>');
  const lines = linesOf(child.stdout);
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.stdin.end();
    child.kill('SIGKILL');
    await exited;
  });
  return {
    export: async (batch) => {
      child.stdin.write(`${JSON.stringify(batch)}\n`);
      const { value } = await lines.next();
      if (value === undefined) throw new Error(`the client ended: ${log().slice(-2000)}`);
      const exported: Exported = JSON.parse(value);
      return exported;
    },
    log,
  };
};
