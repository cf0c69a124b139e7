import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { md5Of } from './document.ts';
import type { ShownSubscription, SubscriptionParams } from './node-management.ts';

const recordSchema = z.record(z.string(), z.unknown());
const listSchema = z.custom<readonly unknown[]>(Array.isArray);

/** What was sent; an array stays the same one. */
const sentSchema = z.object({
  scope: z.object({ nodes: listSchema }),
  steps: z.tuple([z.object({ params: z.object({ context: recordSchema }) })]),
});

/** What `info` answers; one without steps shows nothing. */
const infoSchema = z.array(z.unknown());
const shownSchema = z.object({
  id: z.int(),
  scope: z.object({ nodes: listSchema }).optional().catch(undefined),
  steps: z.array(z.unknown()).min(1),
});
const stepsSchema = z.tuple([
  z.object({
    id: z.string().optional().catch(undefined),
    params: z
      .object({ context: recordSchema.optional().catch(undefined) })
      .optional()
      .catch(undefined),
  }),
]);
type Step = z.output<typeof stepsSchema>[0];

/** No report has it: the subscription is of another program. */
const dataIdOfOthers = -1;
const dataIdSchema = z
  .union([
    z.int(),
    z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number),
  ])
  .catch(dataIdOfOthers);

const stepEnd = '-collector';

/** The prefix in the id of a step; undefined for one of another program. */
const prefixIn = (id: string): string | undefined =>
  id.length > stepEnd.length && id.endsWith(stepEnd) ? id.slice(0, -stepEnd.length) : undefined;

/**
 * Of the one step of a report's subscription, which names the platform prefix of its time. Undefined where it shows no
 * values.
 */
const dataIdOf = (step: Step | undefined, prefix: string): number | undefined => {
  const name = step?.id === undefined ? prefix : prefixIn(step.id);
  if (step === undefined || name === undefined) return dataIdOfOthers;
  const context = step.params?.context;
  return context && dataIdSchema.parse(context[`${name}_data_id`]);
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
};

/**
 * The shown values that differ from the sent ones. An API may leave out a value, show it in another type, or mask it:
 * then it does not tell what it has.
 */
function* differencesOf(shown: unknown, sent: unknown, path: string): Generator<string> {
  if (typeOf(shown) !== typeOf(sent)) return;
  if (isRecord(shown) && isRecord(sent)) {
    for (const [key, value] of Object.entries(sent))
      yield* differencesOf(shown[key], value, `${path}.${key}`);
    return;
  }
  const isMasked = typeof shown === 'string' && shown.includes('*');
  if (!isMasked && !isDeepStrictEqual(shown, sent)) yield `${path} ${JSON.stringify(shown)}`;
}

/** Ascending, with commas; undefined where one is named otherwise. */
const hostsOf = (nodes: readonly unknown[], prefix: string): string | undefined => {
  const ids = new Set<string>();
  for (const node of nodes) {
    const id = isRecord(node) ? node[`${prefix}_host_id`] : undefined;
    if (typeof id !== 'number' && typeof id !== 'string') return undefined;
    ids.add(String(id));
  }
  return [...ids].sort().join();
};

/** Of what was sent: the subscriptions of a business share one list. */
const hostsSent = new WeakMap<readonly unknown[], string | undefined>();

const hostsOfSent = (nodes: readonly unknown[], prefix: string): string | undefined => {
  if (!hostsSent.has(nodes)) hostsSent.set(nodes, hostsOf(nodes, prefix));
  return hostsSent.get(nodes);
};

type Shown = {
  readonly dataId: number;
  readonly hosts: string | undefined;
  readonly context: Record<string, unknown> | undefined;
};

const shownOf = ({ dataId, hosts, context }: Shown, prefix: string): ShownSubscription => ({
  dataId,
  otherwise: (params: SubscriptionParams) => {
    const sent = sentSchema.parse(params);
    const found = [...differencesOf(context, sent.steps[0].params.context, '')];
    if (hosts !== undefined && hosts !== hostsOfSent(sent.scope.nodes, prefix)) found.push(`hosts ${hosts}`);
    return found.length === 0 ? undefined : md5Of(found.join('\n'));
  },
});

/** Those of the answer to `info` that show whose they are, by id. `prefix` is that of the platform in its names. */
export const shownIn = (data: unknown, prefix: string): ReadonlyMap<number, ShownSubscription> => {
  const shown = new Map<number, ShownSubscription>();
  for (const one of infoSchema.safeParse(data).data ?? []) {
    const subscription = shownSchema.safeParse(one).data;
    if (subscription === undefined) continue;
    const { id, scope, steps } = subscription;
    const [step] = stepsSchema.safeParse(steps).data ?? [];
    const dataId = dataIdOf(step, prefix);
    if (dataId === undefined) continue;
    const hosts = scope && hostsOf(scope.nodes, prefix);
    shown.set(id, shownOf({ dataId, hosts, context: step?.params?.context }, prefix));
  }
  return shown;
};
