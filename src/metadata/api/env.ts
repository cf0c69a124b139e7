import type { HttpBindings } from '@hono/node-server';
import type { AdminIdentity } from '../tokens/admin-token-state.ts';

/** What the handlers of the admin API find in their context. */
export type ApiEnv = {
  /** Absent where a request did not arrive over HTTP. */
  Bindings: Partial<HttpBindings>;
  Variables: {
    identity: AdminIdentity;
    /** As the answer has it in X-Request-Id. */
    requestId: string;
    /** Whether the token or the session of the call still counts: for answers without an end. */
    isAllowed: () => Promise<boolean>;
  };
};
