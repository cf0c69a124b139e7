import { Fault } from '../model/fault.ts';

/**
 * The result of `work`, if it settles before `deadlineAt` (ms of `performance.now()`); then throws a transient Fault `not_in_time`
 * that names the work. The work itself continues.
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
