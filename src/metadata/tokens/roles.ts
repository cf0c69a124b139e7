/** The roles of admin tokens. `node` is for the polling endpoint of nodes alone. */
export const adminRoles = ['admin', 'editor', 'viewer', 'node'] as const;
export type AdminRole = (typeof adminRoles)[number];
