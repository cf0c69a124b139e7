import { type GatedStack, startGatedStack } from '../../support/stack/gated-stack.ts';

let shared: Promise<GatedStack> | undefined;

/** The one stack of all rooms of the test file; the first call starts it. The file stops it after its last test. */
export const sharedStack = (): Promise<GatedStack> => {
  shared ??= startGatedStack();
  return shared;
};
