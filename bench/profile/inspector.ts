import { z } from 'zod';
import type { RoleProcess } from '../../test/support/stack/stack.ts';
import { waitFor } from '../../test/support/wait.ts';

/** One function at one place of the call tree, as V8 reports it. */
const nodeSchema = z.object({
  id: z.number(),
  callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
  children: z.array(z.number()).optional(),
});

/** A CPU profile of V8: the call tree, and for each sample the node at its end and the time since the sample before, µs. */
const profileSchema = z.object({
  nodes: z.array(nodeSchema),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});

export type CpuProfile = z.output<typeof profileSchema>;

const answerSchema = z.object({
  id: z.number().optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});

const listening = /Debugger listening on (ws:\/\/\S+)/;
const openMsMax = 10_000;
const sampleEveryMicroseconds = 500;

/** Environment of a role that is profiled: its inspector takes any free port. */
export const inspectedEnv = { NODE_OPTIONS: '--inspect-port=0' };

/** Opens the inspector of a running role and returns its address. */
const openInspector = async (role: RoleProcess): Promise<string> => {
  role.signal('SIGUSR1');
  let address: string | undefined;
  await waitFor(`the inspector of ${role.name}`, openMsMax, async () => {
    for (const line of role.lines) address = listening.exec(line)?.[1] ?? address;
    return address !== undefined;
  });
  return address ?? '';
};

type Session = {
  /** Sends a command and returns its result. Throws with the inspector's own message. */
  call(method: string, params?: object): Promise<unknown>;
  close(): void;
};

const openSession = async (address: string): Promise<Session> => {
  const socket = new WebSocket(address);
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error } = answerSchema.parse(JSON.parse(String(data)));
    if (id === undefined) return;
    if (error === undefined) waiting.get(id)?.resolve(result);
    else waiting.get(id)?.reject(new Error(error.message));
    waiting.delete(id);
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve(), { once: true });
    socket.addEventListener('error', () => reject(new Error(`no inspector at ${address}`)), { once: true });
  });
  let last = 0;
  return {
    call: (method, params = {}) => {
      const id = ++last;
      const answer = Promise.withResolvers<unknown>();
      waiting.set(id, answer);
      socket.send(JSON.stringify({ id, method, params }));
      return answer.promise;
    },
    close: () => socket.close(),
  };
};

/** Profiles the main thread of a role while `work` runs. */
export const profileWhile = async <T>(
  role: RoleProcess,
  work: () => Promise<T>,
): Promise<{ profile: CpuProfile; result: T }> => {
  const session = await openSession(await openInspector(role));
  try {
    await session.call('Profiler.enable');
    await session.call('Profiler.setSamplingInterval', { interval: sampleEveryMicroseconds });
    await session.call('Profiler.start');
    const result = await work();
    const stopped = z.object({ profile: profileSchema }).parse(await session.call('Profiler.stop'));
    return { profile: stopped.profile, result };
  } finally {
    session.close();
  }
};
