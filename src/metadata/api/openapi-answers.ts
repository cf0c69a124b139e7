import { problem } from './contract.ts';

/** A header that an answer always has. */
export const text = (textDescription: string) => ({
  description: textDescription,
  required: true,
  schema: { type: 'string' as const },
});

export const problemAnswer = (
  problemDescription: string,
  headers: Record<string, ReturnType<typeof text>> = {},
) => ({
  description: problemDescription,
  headers,
  content: { 'application/problem+json': { schema: problem } },
});
