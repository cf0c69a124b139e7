import { PlainCursor } from '../../rules/points/plain-cursor.ts';

const comma = 0x2c;
const colon = 0x3a;
const braceOpen = 0x7b;
const bracketOpen = 0x5b;
const dataId = Buffer.from('data_id');
const accessToken = Buffer.from('access_token');
const data = Buffer.from('data');

/** What stands before the points of a body in its plain form. */
export type PlainHead = {
  readonly dataId: number;
  readonly token: string;
  /** Index of the first byte behind the list's bracket. */
  readonly pointsAt: number;
};

const cursor = new PlainCursor();

const readHead = (): PlainHead | undefined => {
  let id = -1;
  let token: string | undefined;
  if (!cursor.take(braceOpen)) return undefined;
  do {
    if (cursor.text() < 0) return undefined;
    if (cursor.isLast(dataId)) {
      if (id >= 0 || !cursor.take(colon)) return undefined;
      id = cursor.count();
      if (id < 0) return undefined;
    } else if (cursor.isLast(accessToken)) {
      if (token !== undefined || !cursor.take(colon) || cursor.text() < 0) return undefined;
      token = cursor.shown();
    } else if (cursor.isLast(data)) {
      if (id < 0 || token === undefined || !cursor.take(colon) || !cursor.take(bracketOpen)) return undefined;
      return cursor.hasOthers ? undefined : { dataId: id, token, pointsAt: cursor.at };
    } else return undefined;
  } while (cursor.take(comma));
  return undefined;
};

/** Reads a body's head when its members are data_id, access_token and then data, as reporters write them; else undefined. */
export const readPlainHead = (bytes: Buffer): PlainHead | undefined => {
  cursor.open(bytes, 0);
  try {
    return readHead();
  } finally {
    cursor.close();
  }
};
