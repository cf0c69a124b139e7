import type { Stack } from '../stack/stack.ts';

/** A report to push different points to; `push` answers the status. */
export const pushProbe = async (stack: Stack) => {
  const report = await stack.createReport('probe');
  let time = Date.now() - 600_000;
  const { data_source: source, result_table: table } = report;
  return {
    table: table.table_id,
    push: async (points: number, text = 'a'): Promise<number> => {
      const data = Array.from({ length: points }, () => ({
        metrics: { up: 1 },
        dimension: { text },
        timestamp: time++,
      }));
      const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
        method: 'POST',
        body: JSON.stringify({ data_id: source.mon_data_id, access_token: source.token, data }),
      });
      await response.arrayBuffer();
      return response.status;
    },
    stored: async (): Promise<number> =>
      Number((await stack.query(`SELECT count() FROM "${table.table_id}"`)).dataset[0]?.[0]),
  };
};

const spanOf = (index: number) => ({
  traceId: index.toString(16).padStart(32, 'a'),
  spanId: index.toString(16).padStart(16, 'b'),
  name: 'probe',
  kind: 1,
  startTimeUnixNano: `${Date.now()}000000`,
  endTimeUnixNano: `${Date.now()}000001`,
});

/** An application to export different spans to; `send` answers status and body. */
export const spanProbe = async (stack: Stack) => {
  const { app_id: id, token } = await stack.createApplication('probe');
  let sent = 0;
  return {
    get sent() {
      return sent;
    },
    send: async (spans: number): Promise<[status: number, body: string]> => {
      const list = Array.from({ length: spans }, () => spanOf(sent++));
      const response = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['otlp']}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-mon-token': token },
        body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: list }] }] }),
      });
      return [response.status, await response.text()];
    },
    stored: async (): Promise<number> => {
      const rows = await stack.spansQuery(`SELECT count() AS n FROM otel.otel_traces WHERE AppId = ${id}`);
      return Number(rows[0]?.['n']);
    },
  };
};
