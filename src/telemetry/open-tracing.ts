import { type Settings, settingFault } from '../config/settings.ts';
import type { Log } from './log.ts';
import type { Tracing } from './tracing.ts';

const tracesPath = '/v1/traces';

/** The address, with the path of OTLP where it has none of its own. */
const withPath = (address: string): string => {
  const url = new URL(address);
  if (url.pathname === '/' || url.pathname === '') url.pathname = tracesPath;
  return url.href;
};

/**
 * `name=value` pairs separated by commas, the values percent-encoded where needed: the form of OTEL_EXPORTER_OTLP_HEADERS. Throws a
 * permanent Fault `config_invalid`.
 */
export const tracingHeadersOf = (text: string): Record<string, string> => {
  const headers: Record<string, string> = {};
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=');
    const name = pair.slice(0, at).trim();
    try {
      if (at < 1 || !/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw new Error('not a pair');
      headers[name] = decodeURIComponent(pair.slice(at + 1).trim());
    } catch {
      throw settingFault(
        'TIDEMARK_TRACING_HEADERS',
        'it is not a list like name=value,name=value',
        'Write it like X-MON-TOKEN=<token>',
      );
    }
  }
  return headers;
};

/**
 * Spans of the program itself, or undefined without an address for them: then no package is loaded. Throws a permanent Fault for
 * unusable headers.
 */
export const openTracing = async (
  { tracing: { url, headers, sampleRatio } }: Pick<Settings, 'tracing'>,
  role: string,
  log: Log,
): Promise<Tracing | undefined> => {
  if (url === undefined) return undefined;
  const { createTracing } = await import('./open-telemetry.ts');
  const pairs = headers === undefined ? {} : tracingHeadersOf(headers);
  return createTracing({ role, url: withPath(url), headers: pairs, sampleRatio, log });
};
