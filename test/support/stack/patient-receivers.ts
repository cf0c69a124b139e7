/**
 * For `pipelines` of a stack whose tests say nothing about time: a receiver answers 503 after `deadline_ms`, which a slow machine may need
 * for its largest bodies.
 */
export const withPatientReceivers = (text: string): string =>
  text.replace(/deadline_ms: \d+/, 'deadline_ms: 30000');
