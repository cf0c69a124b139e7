// The credentials in the bodies.

export { arrivedAt } from '../../support/push/source.ts';

export const pushCredential = { dataId: 1_500_001, token: '0123456789abcdef0123456789abcdef' } as const;

/** The attribute of a resource that holds a write token. */
export const tokenKey = 'mon.data.token';
