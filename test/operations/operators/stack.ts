import { type Stack, startStack } from '../../support/stack/stack.ts';

let shared: Promise<Stack> | undefined;

/** The one stack of all rooms of the test file; the first call starts it. The file stops it after its last test: `stopSharedStack`. */
export const sharedStack = (): Promise<Stack> => {
  shared ??= startStack({ traces: true });
  return shared;
};

/** The next file of the same process starts one of its own. */
export const stopSharedStack = async (): Promise<void> => {
  const stopping = shared;
  shared = undefined;
  await (await stopping)?.stop();
};
