import type { Source } from '../../directory/directory.ts';
import { PushScan } from '../../wire/points/push-scan.ts';
import { dataIdOf, type PushPair } from './decode.ts';
import { type PlainHead, readPlainHead } from './plain-head.ts';

/** Finds whose a push is while its body comes in, and asks whether that is right: of a body that is nobody's no more is read. */
export type HeadWatch = {
  /** To be shown each piece of the body; false once it is clear that the credential is wrong. */
  see(piece: Buffer): boolean;
  /** The credential, once it was found. */
  readonly pair: PushPair | undefined;
  /** The head of a body in its plain form, where the first piece holds it. */
  readonly plainHead: PlainHead | undefined;
  /** The source, once the pair was found: undefined for a wrong one. Rejects with a transient Fault. */
  readonly source: Promise<Source | undefined> | undefined;
  /** What was seen of a body without a pair. */
  readonly scan: PushScan;
};

type Authorize = (dataId: number, token: string) => Promise<Source | undefined>;

export const watchHead = (authorize: Authorize, elementsMax: number): HeadWatch => {
  let scan: PushScan | undefined;
  let isFirst = true;
  let isWrong = false;
  let plainHead: PlainHead | undefined;
  let pair: PushPair | undefined;
  let source: Promise<Source | undefined> | undefined;

  const judge = (found: PushPair): void => {
    pair = found;
    source = authorize(found.dataId, found.token);
    source.then(
      (known) => {
        isWrong = known === undefined;
      },
      () => {
        isWrong = true;
      },
    );
  };

  return {
    see: (piece) => {
      if (isWrong) return false;
      if (pair !== undefined) return true;
      if (isFirst) {
        isFirst = false;
        plainHead = readPlainHead(piece);
        if (plainHead !== undefined) {
          judge(plainHead);
          return true;
        }
      }
      scan ??= new PushScan(elementsMax, true);
      scan.feed(piece);
      if (scan.isTooMuch || (scan.firstByte !== 0 && !scan.isObject)) isWrong = true;
      else if (scan.dataId !== undefined && scan.token !== undefined) {
        const dataId = dataIdOf(scan.dataId);
        if (dataId === undefined) isWrong = true;
        else judge({ dataId, token: scan.token });
      }
      return true;
    },
    get pair() {
      return pair;
    },
    get plainHead() {
      return plainHead;
    },
    get source() {
      return source;
    },
    get scan() {
      return scan ?? new PushScan(elementsMax);
    },
  };
};
