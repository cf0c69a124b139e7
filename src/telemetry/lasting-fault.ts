import { errorText } from '../model/fault.ts';
import type { Log } from './log.ts';

/** A fault that lasts until something works again. */
export type LastingFault = { failed(error: unknown): void; worked(): void };

const everyMs = 60_000;

/** Logs its beginning, once a minute that it lasts on, and its end; the later lines with the time of the first one. */
export const logLastingFault = (
  log: Pick<Log, 'info' | 'warn'>,
  fields: Readonly<Record<string, unknown>>,
  texts: { readonly began: string; readonly ended: string },
  elapsed: () => number = performance.now.bind(performance),
): LastingFault => {
  let since: string | undefined;
  let saidAt = 0;
  return {
    failed: (error) => {
      if (since !== undefined && elapsed() - saidAt < everyMs) return;
      log.warn(
        { ...fields, error: errorText(error), ...(since === undefined ? {} : { since }) },
        texts.began,
      );
      since ??= new Date().toISOString();
      saidAt = elapsed();
    },
    worked: () => {
      if (since === undefined) return;
      log.info({ ...fields, since }, texts.ended);
      since = undefined;
    },
  };
};
