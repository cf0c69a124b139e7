import type { Source } from '../../directory/directory.ts';
import { PushScan } from '../../rules/points/push-scan.ts';
import { dataIdOf, type PushPair } from './decode.ts';

type Authorize = (dataId: number, token: string) => Promise<Source | undefined>;

/** Finds whose a push is while its body comes in, and asks whether that is right: of a body that is nobody's no more is read. */
export class HeadWatch {
  /** The credential, once it was found. */
  pair: PushPair | undefined;
  /** The source, once the pair was found: undefined for a wrong one. Rejects with a transient Fault. */
  source: Promise<Source | undefined> | undefined;
  private found: PushScan | undefined;
  private isWrong = false;
  private readonly authorize: Authorize;
  private readonly elementsMax: number;

  constructor(authorize: Authorize, elementsMax: number) {
    this.authorize = authorize;
    this.elementsMax = elementsMax;
  }

  /** What was seen of a body without a pair. */
  get scan(): PushScan {
    this.found ??= new PushScan(this.elementsMax, true);
    return this.found;
  }

  /** To be shown each piece of the body; false once it is clear that the credential is wrong. */
  see(piece: Buffer): boolean {
    if (this.isWrong) return false;
    if (this.pair !== undefined) return true;
    this.look(piece);
    return true;
  }

  private look(piece: Buffer): void {
    const { scan } = this;
    scan.feed(piece);
    if (scan.isTooMuch || (scan.firstByte !== 0 && !scan.isObject)) this.isWrong = true;
    else if (scan.dataId !== undefined && scan.token !== undefined) {
      const dataId = dataIdOf(scan.dataId);
      if (dataId === undefined) this.isWrong = true;
      else this.judge({ dataId, token: scan.token });
    }
  }

  private judge(pair: PushPair): void {
    this.pair = pair;
    this.source = this.authorize(pair.dataId, pair.token);
    this.source.then(
      (known) => {
        this.isWrong = known === undefined;
      },
      () => {
        this.isWrong = true;
      },
    );
  }
}
