import { type Stack, startStack } from '../../support/stack/stack.ts';

let shared: Promise<Stack> | undefined;

/** The one stack of all rooms of the test file; the first call starts it. The file stops it after its last test. */
export const sharedStack = (): Promise<Stack> => {
  shared ??= startStack({ traces: true });
  return shared;
};
