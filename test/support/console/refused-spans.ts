import { fetchEngine } from '../stack/fetch-engine.ts';
import { consoleStack } from './console-stack.ts';

/** Runs a statement on ClickHouse of the stack; returns its answer. Throws where it refuses. */
export const askClickhouse = async (sql: string): Promise<string> => {
  const url = consoleStack().env['TIDEMARK_CLICKHOUSE_URL'] ?? '';
  const response = await fetchEngine(`${url}/?query=${encodeURIComponent(sql)}`, { method: 'POST' });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
};

let nextTrace = 1;

/** Exports spans with these names and attributes in one request. */
export const exportSpans = async (
  token: string,
  names: readonly string[],
  attributes: Readonly<Record<string, string>> = {},
): Promise<void> => {
  const traceId = String(nextTrace++).padStart(32, 'e');
  const time = `${Date.now()}000000`;
  const spans = names.map((name, index) => ({
    traceId,
    spanId: String(index + 1).padStart(16, '0'),
    name,
    startTimeUnixNano: time,
    endTimeUnixNano: time,
    attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: { stringValue: value } })),
  }));
  const response = await fetch(`${consoleStack().otlp}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mon-token': token },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
  });
  if (!response.ok) throw new Error(await response.text());
};
