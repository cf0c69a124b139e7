import { type Report, type Stack, startStack } from '../../support/stack/stack.ts';

let shared: Promise<Stack> | undefined;

/** A password that no answer may have. */
export const secret = 's3cr3t-Pa55-of-tracing';

/** The one stack of all rooms of the test file; the first call starts it. */
export const sharedStack = (): Promise<Stack> => {
  // QuestDB suspends a table on command only then.
  process.env['QDB_DEV_MODE_ENABLED'] = 'true';
  shared ??= startStack({ traces: true, env: { TIDEMARK_TRACING_HEADERS: `X-Key=${secret}` } });
  return shared;
};

/** The file stops it after its last test. */
export const stopSharedStack = async (): Promise<void> => {
  delete process.env['QDB_DEV_MODE_ENABLED'];
  await (await shared)?.stop();
};

/** Pushes points, and answers the status. */
export const push = async (
  stack: Stack,
  { data_source: { mon_data_id: dataId } }: Report,
  token: string,
  data: readonly unknown[],
): Promise<number> => {
  const answer = await fetch(`http://127.0.0.1:${stack.ingress[0]?.ports['push']}/v2/push/`, {
    method: 'POST',
    headers: { 'User-Agent': 'reporter/1.2' },
    body: JSON.stringify({ data_id: dataId, access_token: token, data }),
  });
  await answer.text();
  return answer.status;
};
