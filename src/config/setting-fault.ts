import { Fault } from '../model/fault.ts';

/** A setting that cannot be used, or a file that holds some: its place, the reason and the remedy. */
export const settingFault = (place: string, reason: string, remedy: string): Fault =>
  new Fault('permanent', 'config_invalid', `${place}: ${reason}. ${remedy}`);
