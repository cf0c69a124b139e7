import { Fault } from '../../model/fault.ts';
import { actionRequestSchema } from '../records/requests.ts';
import { consoleLink } from './contract.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, endpoint } from './endpoint.ts';

/** The way into the console for the holder of a token. */
export const consoleEndpoints = (deps: ApiDeps): Endpoint[] => [
  endpoint({
    method: 'POST',
    path: '/api/v1/console-links',
    tag: 'Console',
    summary: 'Makes a link that logs in to the console as the caller, once, within 60 s',
    role: 'viewer',
    needsProof: true,
    body: actionRequestSchema,
    answer: consoleLink,
    audit: () => ({ action: 'console.link', kind: 'console_session', id: 'link' }),
    refuse: ({ identity }) => deps.console?.countLink(identity),
    run: async ({ identity }) => {
      if (deps.console === undefined)
        throw new Fault('permanent', 'console_off', 'metadata runs with TIDEMARK_CONSOLE=off');
      const { code, expiresAt } = await deps.console.makeCode(identity);
      return { body: { path: `/console/login#${code}`, expires_at: Math.floor(expiresAt / 1000) } };
    },
  }),
];
