import { z } from 'zod';

/** A limit that no process reaches. */
export const filesAmple = 262_144;

const report = z.object({
  userLimits: z.object({ open_files: z.object({ hard: z.union([z.number(), z.literal('unlimited')]) }) }),
});

/** Largest limit of open files that a process may set; 0 where the system does not report it. Java takes all of them. */
export const filesMax = (): number => {
  const hard = report.safeParse(process.report.getReport()).data?.userLimits.open_files.hard ?? 0;
  return hard === 'unlimited' ? Number.POSITIVE_INFINITY : hard;
};
