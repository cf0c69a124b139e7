import { type Gate, openGate } from './gate.ts';
import { type Stack, type StackOptions, startStack } from './stack.ts';

type EngineName = 'nats' | 'questdb' | 'clickhouse';

/** A stack whose roles reach their engines through gates, one for each role and engine. */
export type GatedStack = Stack & { gate(role: string, engine: EngineName): Gate };

/** Ack wait of the consumers: NATS redelivers a killed worker's messages after this. */
export const ackWaitSeconds = 3;

const protocols = { nats: 'nats', questdb: 'http', clickhouse: 'http' } as const;

/** Starts a stack with ClickHouse and a short ack wait. */
export const startGatedStack = async (options: StackOptions = {}): Promise<GatedStack> => {
  const gates = new Map<string, Gate>();
  const stack = await startStack({
    traces: true,
    ackWaitSeconds,
    ...options,
    roleEnv: async (role, engines) => {
      const env: Record<string, string> = {};
      for (const name of ['nats', 'questdb', 'clickhouse'] as const) {
        const gate = await openGate(protocols[name], engines[name].url);
        gates.set(`${role} ${name}`, gate);
        env[`TIDEMARK_${name.toUpperCase()}_URL`] = gate.url;
      }
      return env;
    },
  });
  return {
    ...stack,
    gate: (role, engine) => {
      const gate = gates.get(`${role} ${engine}`);
      if (gate === undefined) throw new Error(`there is no gate from ${role} to ${engine}`);
      return gate;
    },
    stop: async () => {
      await stack.stop();
      for (const gate of gates.values()) await gate.close();
    },
  };
};
