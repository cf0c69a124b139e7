/** The form of any token in a list. */
export const hiddenToken = '*'.repeat(32);

/** The form of a token in the view of one record: enough to distinguish two tokens, too little to use one. */
export const maskedToken = (token: string): string => `${token.slice(0, 4)}${'*'.repeat(28)}`;

/** The record in its own view: its token masked, every other field unchanged. */
export const masked = <T extends object>(record: T): T =>
  'token' in record && typeof record.token === 'string'
    ? { ...record, token: maskedToken(record.token) }
    : record;

/** The record in a list. */
export const hidden = <T extends object>(record: T): T =>
  'token' in record ? { ...record, token: hiddenToken } : record;
