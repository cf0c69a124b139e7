import type { z } from 'zod';

/** A request as the creations take it: read by its schema, with who is recorded as its author. */
export const authored = <T extends object>(
  schema: z.ZodType<T & { operator?: string | undefined }>,
  input: unknown,
): Omit<T, 'operator'> & { readonly operator: string } => {
  const { operator = 'admin', ...request } = schema.parse(input);
  return { ...request, operator };
};
