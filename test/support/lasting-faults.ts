import type { LastingFault } from '../../src/telemetry/lasting-fault.ts';

/** The calls of a fault, those that repeat each other once. */
export const notedFault = (): { readonly events: readonly string[]; readonly fault: LastingFault } => {
  const events: string[] = [];
  const note = (event: string) => (): void => {
    if (events.at(-1) !== event) events.push(event);
  };
  return { events, fault: { failed: note('failed'), worked: note('worked') } };
};
