import { startStack } from '../test/support/stack/stack.ts';

/** The duration of an operation whose time the documents promise to users. */
export type Time = {
  readonly what: string;
  readonly milliseconds: number;
  readonly promised_milliseconds: number;
};

const untilStatus = async (status: number, push: () => Promise<Response>): Promise<number> => {
  const start = performance.now();
  for (;;) {
    const response = await push();
    await response.arrayBuffer();
    if (response.status === status) return Math.round(performance.now() - start);
    if (performance.now() - start > 60_000) throw new Error(`no ${status} within a minute`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

/** The times that the product names, on real engines with two ingress processes. */
export const measureTimes = async (): Promise<Time[]> => {
  const stack = await startStack({ ingress: 2 });
  try {
    const report = await stack.createReport('times');
    const body = JSON.stringify({
      data_id: report.data_source.mon_data_id,
      access_token: report.data_source.token,
      data: [{ metrics: { up: 1 } }],
    });
    const pushTo = (index: number) => () =>
      fetch(`http://127.0.0.1:${stack.ingress[index]?.ports['push']}/v2/push/`, { method: 'POST', body });
    const taken = await Promise.all([0, 1].map((index) => untilStatus(200, pushTo(index))));
    await stack.waitForRows(report.result_table.table_id, 2);
    await stack.engines.nats.stop();
    const refused = await untilStatus(503, pushTo(0));
    const started = performance.now();
    await stack.engines.nats.start();
    await untilStatus(200, pushTo(0));
    const back = Math.round(performance.now() - started);
    return [
      {
        what: 'a new data id is taken by every receiver',
        milliseconds: Math.max(...taken),
        promised_milliseconds: 1000,
      },
      { what: 'a stopped NATS is answered 503', milliseconds: refused, promised_milliseconds: 2000 },
      { what: 'NATS starts and pushes are taken again', milliseconds: back, promised_milliseconds: 5000 },
    ];
  } finally {
    await stack.stop();
  }
};
