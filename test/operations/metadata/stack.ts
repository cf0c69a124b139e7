import { type MetadataStack, startMetadataStack } from '../../support/metadata/role.ts';

let shared: Promise<MetadataStack> | undefined;

/** The one stack of all rooms of the test file; the first call starts it. The file stops it after its last test. */
export const sharedStack = (): Promise<MetadataStack> => {
  shared ??= startMetadataStack();
  return shared;
};
