import { InvalidArgumentError } from 'commander';
import { Fault } from '../model/fault.ts';
import { nearestName } from '../model/nearest-name.ts';
import { explainAll, reasons } from '../model/reasons.ts';

const unknownText = (code: string): string => {
  const near = nearestName(
    code,
    reasons.map((reason) => reason.code),
  );
  const meant = near === undefined ? '' : ` (Did you mean ${near}?)`;
  return `unknown reason ${JSON.stringify(code)}${meant}; tidemark explain lists all reasons`;
};

/** A permanent Fault `not_found` for a reason that does not exist, with the nearest one. */
export const unknownReason = (code: string): Fault => new Fault('permanent', 'not_found', unknownText(code));

/** The code of a reason; commander prints the refusal of any other text. */
export const reasonArgument = (code: string): string => {
  if (explainAll(code).length === 0) throw new InvalidArgumentError(`${unknownText(code)}.`);
  return code;
};
