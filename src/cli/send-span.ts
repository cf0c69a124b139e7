import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { Fault } from '../model/fault.ts';
import { parseJson } from '../model/json.ts';
import { type AdminClient, createAdminClient } from './client.ts';
import { tokenOf } from './lookups.ts';
import type { JsonOption } from './options.ts';
import { loadCommandSettings } from './running-stack.ts';
import { accountStage, openAccount, receiverUrls, send, tokenHeaders, waitForRow } from './sending.ts';
import { followStages, type Stage } from './stations.ts';
import { usableToken, writeToken } from './usable-token.ts';

/** The options of a span that is sent to try the line. */
export type SendOptions = JsonOption & {
  service: string;
  name: string;
  url?: string;
  token?: string;
  timeout: number;
};

const replySchema = z.object({
  message: z.string().default(''),
  partialSuccess: z.object({ errorMessage: z.string().default('') }).optional(),
});

/** What the receiver said. Throws where the span is not stored. */
const accepted = async (answer: Response): Promise<string> => {
  const text = await answer.text();
  const { message, partialSuccess } = replySchema.parse(parseJson(text) ?? {});
  if (answer.status === 200 && partialSuccess === undefined) {
    const id = answer.headers.get('x-request-id');
    return `200${id === null ? '' : `; request ${id}`}`;
  }
  const why = partialSuccess?.errorMessage || message || text.slice(0, 300);
  throw new Fault('permanent', 'refused', `${answer.status} ${why}`);
};

const bodyOf = ({ service, name }: SendOptions, traceId: string): object => {
  const end = BigInt(Date.now()) * 1_000_000n;
  const span = {
    traceId,
    spanId: randomBytes(8).toString('hex'),
    name,
    kind: 1,
    startTimeUnixNano: String(end - 1_000_000n),
    endTimeUnixNano: String(end),
  };
  const attributes = [{ key: 'service.name', value: { stringValue: service } }];
  return { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans: [span] }] }] };
};

/** Whether the trace has a span. */
const isStored = async (client: AdminClient, traceId: string): Promise<boolean> => {
  try {
    await client.ask(z.object({ spans_total: z.number().min(1) }), 'GET', `/api/v1/traces/${traceId}`);
    return true;
  } catch (error) {
    if (error instanceof Fault && error.code === 'not_found') return false;
    throw error;
  }
};

/** Sends a span and follows it to its row; prints each station. Throws a permanent Fault for an unknown application. */
export const sendSpan = async (appId: number, options: SendOptions): Promise<void> => {
  const given = options.token === undefined ? undefined : usableToken(options.token, writeToken);
  const settings = loadCommandSettings();
  const client = createAdminClient(settings);
  const timeoutMs = options.timeout * 1000;
  const token = given ?? (await tokenOf(client, { kind: 'application', id: appId }));
  const account = await openAccount(client, { app_id: appId });
  const { otlpUrl } = receiverUrls(settings, options.url === undefined ? {} : { otlpUrl: options.url });
  const traceId = randomBytes(16).toString('hex');
  const body = bodyOf(options, traceId);
  const stages: Stage[] = [
    [
      'receiver',
      async () => accepted(await send(`${otlpUrl}/v1/traces`, '--url', tokenHeaders(token), body)),
    ],
    [
      'ClickHouse',
      async () => {
        await waitForRow(account, timeoutMs, () => isStored(client, traceId));
        return `a row in otel.otel_traces; see tidemark trace ${traceId}`;
      },
    ],
    accountStage(account, timeoutMs),
  ];
  await followStages(stages, options);
};
