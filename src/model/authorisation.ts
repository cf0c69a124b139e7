/** Reasons of requests, or of spans in them, that bring no credential that may write. */
export const authorisationReasons: ReadonlySet<string> = new Set([
  'unauthorized',
  'token_invalid',
  'data_source_disabled',
  'application_disabled',
]);
