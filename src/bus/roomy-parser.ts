import { DenoBuffer, Parser } from '@nats-io/nats-core/internal';
import { ownBuffer } from './owned-bytes.ts';

const parse = Parser.prototype.parse;

/**
 * Collects a message that comes in several reads in a buffer of exactly its size. The client's own parser lets a buffer grow read
 * by read: a message of 1 MiB was copied five times and kept 2 MiB or more for as long as it was held.
 */
export const gatherMessagesInPlace = (): void => {
  Parser.prototype.parse = function parseInPlace(bytes: Uint8Array): void {
    const before = this.msgBuf;
    parse.call(this, bytes);
    const { msgBuf } = this;
    if (msgBuf === undefined || msgBuf === before || msgBuf.capacity >= this.ma.size) return;
    const whole = new DenoBuffer(ownBuffer(this.ma.size));
    whole.truncate(0);
    whole.write(msgBuf.bytes({ copy: false }));
    this.msgBuf = whole;
  };
};
