/** The roles of admin tokens. `node` is for the polling endpoint of nodes alone. */
export const adminRoles = ['admin', 'editor', 'viewer', 'node'] as const;
export type AdminRole = (typeof adminRoles)[number];

const order: Readonly<Record<AdminRole, number>> = { node: 0, viewer: 1, editor: 2, admin: 3 };

/**
 * Whether a token of `role` may do what needs `needed`: admin > editor > viewer; the rights of nodes belong to nodes
 * and admins.
 */
export const roleAllows = (role: AdminRole, needed: AdminRole): boolean =>
  needed === 'node' ? role === 'node' || role === 'admin' : order[role] >= order[needed];
