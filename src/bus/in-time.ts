import { Fault } from '../model/fault.ts';

/** The result of `work`, if it settles within `ms`; then throws what `late` returns. The work itself continues. */
export const within = async <T>(work: Promise<T>, ms: number, late: () => Fault): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), Math.max(0, ms));
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
};

/** The same by `deadlineAt` (ms of `performance.now()`), with a transient Fault `not_in_time` that names the work. */
export const inTime = <T>(what: string, work: Promise<T>, deadlineAt: number): Promise<T> =>
  within(
    work,
    deadlineAt - performance.now(),
    () => new Fault('transient', 'not_in_time', `no answer in time from ${what}`),
  );
