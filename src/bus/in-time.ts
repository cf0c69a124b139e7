import { Fault } from '../model/fault.ts';

/**
 * What `work` comes to, if it does so before `deadlineAt` (ms of `performance.now()`); then throws a transient Fault `not_in_time`
 * that names the work. The work itself goes on.
 */
export const inTime = async <T>(what: string, work: Promise<T>, deadlineAt: number): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Fault('transient', 'not_in_time', `no answer in time from ${what}`)),
      Math.max(0, deadlineAt - performance.now()),
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};
