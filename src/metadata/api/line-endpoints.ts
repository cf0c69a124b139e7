import { z } from 'zod';
import { lineShape, processesAnswer } from '../answers/line.ts';
import { parseInput } from '../problem.ts';
import { parseTopics } from '../pulse/live-topics.ts';
import type { PulseReads } from '../pulse/open-pulse.ts';
import type { ApiDeps } from './deps.ts';
import { endlessAnswer } from './endless.ts';
import { type Endpoint, endpoint } from './endpoint.ts';

const tag = 'Line';

/** The line and its processes, as their pulses tell (architecture 2). */
export const lineEndpoints = ({ pulse }: Pick<ApiDeps, 'pulse'>): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/v1/line',
    tag,
    summary:
      'The line with its rates, streams, stores, processes, troubles and the account of the last hour. /api/v1/live?topics=line,' +
      'drops:<data_id>,drops:app:<app_id>,dead_letters streams it each second as server-sent events, without an end',
    role: 'viewer',
    answer: lineShape,
    run: async () => ({ body: await pulse.lineOnce() }),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/processes',
    tag,
    summary: 'Every process that sent a pulse in the last two minutes, with its rates of each second',
    role: 'viewer',
    answer: processesAnswer,
    run: async () => ({ body: { items: pulse.processes() } }),
  }),
];

/** The path that streams the line, drops and progress as server-sent events. */
export const livePath = '/api/v1/live';

const liveQuery = z.strictObject({ topics: z.string().min(1).max(400) });

/**
 * The answer to a call of `livePath`, without an end. Throws a permanent Fault for an unusable query, and those of `Live`.
 */
export const answerLive = async (
  { live }: PulseReads,
  query: Readonly<Record<string, string>>,
  isHead: boolean,
): Promise<Response> => {
  const topics = parseTopics(parseInput(liveQuery, query).topics);
  return endlessAnswer('text/event-stream', isHead, () => live.open(topics));
};
