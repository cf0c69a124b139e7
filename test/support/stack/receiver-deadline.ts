/** Far above what a slow machine needs for its largest bodies. */
const patientMs = 30_000;

/**
 * For `pipelines` of a stack: a receiver answers 503 after `deadlineMs`. By default none of its tests says anything about time.
 */
export const withDeadline = (text: string, deadlineMs = patientMs): string =>
  text.replace(/deadline_ms: \d+/, `deadline_ms: ${deadlineMs}`);
