/** What a list shows of any token. */
export const hiddenToken = '*'.repeat(32);

/** What the view of one record shows of its token: enough to tell two apart, too little to use. */
export const maskedToken = (token: string): string => `${token.slice(0, 4)}${'*'.repeat(28)}`;

/** The record as one view shows it: a token masked, all else as it is. */
export const masked = <T extends object>(record: T): T =>
  'token' in record && typeof record.token === 'string'
    ? { ...record, token: maskedToken(record.token) }
    : record;

/** The record as lists show it. */
export const hidden = <T extends object>(record: T): T =>
  'token' in record ? { ...record, token: hiddenToken } : record;
