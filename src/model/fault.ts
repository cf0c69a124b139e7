/**
 * The kind of a failure, by its meaning for the work in progress: `transient`: the same call may succeed later;
 * `permanent`: the same input will always fail; `internal`: a defect of Tidemark.
 */
export type FaultKind = 'transient' | 'permanent' | 'internal';

/** Numbers of a dependency's answer, for code that decides by them. */
export type FaultDetail = {
  /** HTTP status. */
  readonly status?: number | undefined;
  /** Error number of the dependency's operating system (Linux). */
  readonly errno?: number | undefined;
};

/** The one error class: each dependency maps its own codes to it in one place. `code` is a stable snake_case name. */
export class Fault extends Error {
  readonly kind: FaultKind;
  readonly code: string;
  readonly detail: FaultDetail;

  constructor(kind: FaultKind, code: string, message: string, cause?: unknown, detail: FaultDetail = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'Fault';
    this.kind = kind;
    this.code = code;
    this.detail = detail;
  }
}

/** The text of anything that was thrown, for a log line. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
