import type { Source } from '../../directory/directory.ts';
import { PushScan } from '../../rules/points/push-scan.ts';
import { dataIdOf, type PushPair } from './decode.ts';

type Authorize = (dataId: number, token: string) => Promise<Source>;

/** Finds the credential of a push while its body arrives, and validates it: a body with an invalid one is read no further. */
export class HeadWatch {
  /** The credential, once the watch has found it. */
  pair: PushPair | undefined;
  /** The source, once the watch has found the pair. Rejects for a pair that is refused, and with a transient Fault. */
  source: Promise<Source> | undefined;
  /** When the watch found the pair, ms of `performance.now()`. */
  judgedAt = 0;
  private found: PushScan | undefined;
  private isWrong = false;
  private readonly authorize: Authorize;
  private readonly elementsMax: number;

  constructor(authorize: Authorize, elementsMax: number) {
    this.authorize = authorize;
    this.elementsMax = elementsMax;
  }

  /** The scan of a body without a pair. */
  get scan(): PushScan {
    this.found ??= new PushScan(this.elementsMax, true);
    return this.found;
  }

  /** Call it with each piece of the body; false once the credential proves wrong. */
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
    this.judgedAt = performance.now();
    this.source = this.authorize(pair.dataId, pair.token);
    this.source.catch(() => {
      this.isWrong = true;
    });
  }
}
