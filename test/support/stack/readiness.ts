import { z } from 'zod';
import type { Stack } from './stack.ts';

const answer = z.object({ failing: z.record(z.string(), z.string()) });

/** The failing checks in `/readyz` of the first transfer process. */
export const createReadiness = (stack: Stack) => async (): Promise<Record<string, string>> => {
  const response = await fetch(`http://127.0.0.1:${stack.transfer[0]?.ports['ops']}/readyz`);
  return answer.parse(await response.json()).failing;
};
