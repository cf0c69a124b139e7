/** How many of something a connection may send: `burst` at once, and `perSecond` more as time goes on. */
export class Budget {
  private readonly burst: number;
  private readonly perSecond: number;
  private left: number;
  private atMs: number;

  constructor(burst: number, perSecond: number, nowMs: number) {
    this.burst = burst;
    this.perSecond = perSecond;
    this.left = burst;
    this.atMs = nowMs;
  }

  /** False once there are too many. */
  spend(nowMs: number): boolean {
    this.left = Math.min(this.burst, this.left + ((nowMs - this.atMs) * this.perSecond) / 1000) - 1;
    this.atMs = nowMs;
    return this.left >= 0;
  }

  /** Makes room for `count` more, never above the burst. */
  earn(count: number): void {
    this.left = Math.min(this.burst, this.left + count);
  }
}
