import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { bodyTooLarge } from './problem.ts';

/** Ends a call whose body is larger with a permanent Fault `body_too_large`; of the rest nothing is read. */
export const limitBody = (bytesMax: number): MiddlewareHandler =>
  bodyLimit({
    maxSize: bytesMax,
    onError: () => {
      throw bodyTooLarge(bytesMax);
    },
  });
