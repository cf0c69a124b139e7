import { z } from 'zod';

/** With so many a process need not care how many files it holds open. */
export const filesAmple = 262_144;

const report = z.object({
  userLimits: z.object({ open_files: z.object({ hard: z.union([z.number(), z.literal('unlimited')]) }) }),
});

/** Files that a process of ours may raise its limit to; 0 where the system does not say. Java takes all of them. */
export const filesMax = (): number => {
  const hard = report.safeParse(process.report.getReport()).data?.userLimits.open_files.hard ?? 0;
  return hard === 'unlimited' ? Number.POSITIVE_INFINITY : hard;
};
