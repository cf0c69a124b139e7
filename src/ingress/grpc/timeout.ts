const unitMs: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** The time of a call as `grpc-timeout` tells it, ms; undefined when the text is not one (at most 8 digits and a unit). */
export const parseTimeoutMs = (text: string): number | undefined => {
  const [, digits = '', unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  const factor = unitMs[unit];
  return digits === '' || factor === undefined ? undefined : Number(digits) * factor;
};

/** The part of a call's time, and the most of it, that is left for the way of the answer. */
const wayShare = 0.1;
const wayMsMax = 500;

/** When the answer to a call has to leave, ms after its start, so that it arrives within the time of the call. */
export const answerWithinMs = (timeoutMs: number): number =>
  timeoutMs - Math.min(timeoutMs * wayShare, wayMsMax);
