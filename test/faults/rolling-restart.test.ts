import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Report, type RoleProcess, type Stack, startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

let stack: Stack;
let report: Report;
beforeAll(async () => {
  // A request may be on its way on a kept connection when its receiver gets the signal to stop: without the drain that connection is cut.
  stack = await startStack({ ingress: 2, transfer: 2, env: { TIDEMARK_INGRESS_DRAIN_MS: '3000' } });
  report = await stack.createReport('rolling');
});
afterAll(() => stack?.stop());

const pointsOfRequest = 20;

/** A balancer's view: the receivers that requests are sent to now. */
const rotation = new Set<RoleProcess>();

const refusedConnection = 'ECONNREFUSED';

const causeOf = (error: unknown): unknown => (error instanceof Error ? (error.cause ?? error) : error);

const isRefused = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === refusedConnection;

const push = async (receiver: RoleProcess): Promise<string> => {
  const { mon_data_id: dataId, token } = report.data_source;
  const data = Array.from({ length: pointsOfRequest }, () => ({
    metrics: { cpu: 1 },
    timestamp: Date.now(),
  }));
  try {
    const answer = await fetch(`http://127.0.0.1:${receiver.ports['push']}/v2/push/`, {
      method: 'POST',
      body: JSON.stringify({ data_id: dataId, access_token: token, data }),
    });
    await answer.text();
    return String(answer.status);
  } catch (error) {
    const cause = causeOf(error);
    return isRefused(cause) ? refusedConnection : String(cause);
  }
};

/** A connection that is refused goes to another receiver, as with a balancer. */
const pushToOneOf = async (turn: number): Promise<string> => {
  let answer = 'no receiver';
  for (let tried = 0; tried < rotation.size; tried++) {
    const receiver = [...rotation][(turn + tried) % rotation.size];
    if (receiver !== undefined) answer = await push(receiver);
    if (answer !== refusedConnection) return answer;
  }
  return answer;
};

/** Senders that each have a request under way all the time, until they are stopped. Answers how often each answer came. */
const startSenders = (count: number) => {
  const answers = new Map<string, number>();
  let isStopped = false;
  const send = async (first: number): Promise<void> => {
    for (let turn = first; !isStopped; turn++) {
      const answer = await pushToOneOf(turn);
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
    }
  };
  const running = Promise.all(Array.from({ length: count }, (_, index) => send(index)));
  return {
    answers,
    total: () => [...answers.values()].reduce((sum, times) => sum + times, 0),
    stop: async () => {
      isStopped = true;
      await running;
    },
  };
};

describe('a rolling restart under load', () => {
  // What an operator does every week must not be seen by producers.
  it('fails no request and loses or repeats no point', async () => {
    const [first] = stack.ingress;
    if (first === undefined) throw new Error('no receiver');
    for (const receiver of stack.ingress) {
      await waitFor('the data id is known', 60_000, async () => (await push(receiver)) === '200');
      rotation.add(receiver);
    }
    const known = stack.ingress.length * pointsOfRequest;
    const senders = startSenders(8);
    // Out of the rotation, as a balancer does during the wait before the stop; open requests continue. And in it again at once: what
    // listens takes requests.
    for (const role of [...stack.ingress, ...stack.transfer, stack.metadata]) {
      const before = senders.total();
      await waitFor('requests go on', 60_000, () => senders.total() > before + 50);
      rotation.delete(role);
      expect(await role.stop()).toBe(0);
      role.start();
      if (stack.ingress.includes(role)) rotation.add(role);
      await role.ready();
    }
    await senders.stop();
    expect([...senders.answers.keys()]).toEqual(['200']);
    await stack.waitForRows(report.result_table.table_id, known + senders.total() * pointsOfRequest, 120_000);
  });
});
