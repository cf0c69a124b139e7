import { z } from 'zod';
import { nearestName } from '../../model/nearest-name.ts';
import { explainAll, reasons } from '../../model/reasons.ts';

const unknownText = (code: string): string => {
  const near = nearestName(
    code,
    reasons.map((each) => each.code),
  );
  const meant = near === undefined ? '' : ` (did you mean ${near}?)`;
  return `unknown reason ${JSON.stringify(code)}${meant}; GET /api/v1/reasons lists all`;
};

/** A filter by reason. A code that does not exist is refused: a list without items would look like a list of what is well. */
export const reasonFilter = z
  .string('must be text')
  .max(64)
  .refine((code) => explainAll(code).length > 0, {
    error: ({ input }) => unknownText(String(input)),
    abort: true,
  })
  .optional()
  .meta({ description: 'Only this reason, a code of /api/v1/reasons', examples: ['row_refused'] });
