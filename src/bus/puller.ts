import { type Msg, nanos } from '@nats-io/transport-node';
import { Fault } from '../model/fault.ts';
import { backOffMs } from '../runtime/back-off.ts';
import { type MessageSerial, readSerial } from '../wire/message-serial.ts';
import type { Bus } from './connection.ts';
import { envelopeVersionHeader, redriveHeader, serialHeader, traceHeader } from './message-headers.ts';
import { freeOwnBytes, ownBytes } from './owned-bytes.ts';

/** A message as a worker holds it until it is settled. */
export type Delivery = {
  readonly payload: Uint8Array;
  readonly subject: string;
  /** Envelope version from the NATS header, where there is one. */
  readonly version: number | undefined;
  readonly streamSequence: number;
  /**
   * Another worker may have or have had it: NATS delivered it before, or it was read so late that NATS may have delivered it again
   * meanwhile. Where this is false, at most half of its ack wait had passed when it was read.
   */
  readonly redelivered: boolean;
  /** How often NATS had delivered it before; undefined where it was read so late that NATS may have delivered it again meanwhile. */
  readonly earlier?: number | undefined;
  /** The number of redrives from the dead letters: 0 on its first way. */
  readonly redrive: number;
  /** Its place in the publishers' book; undefined for a redrive and for a message of an earlier program. */
  readonly serial?: MessageSerial | undefined;
  /** The trace of its request, where it is traced. */
  readonly traceparent?: string | undefined;
  ack(): void;
  /** Returns it to NATS, for redelivery after this time. */
  nak(delayMs: number): void;
  /** Reports that the work continues, so that the ack wait restarts. */
  working(): void;
  /** Frees the payload at once. No code may read it afterwards. */
  free(): void;
};

/** Takes messages from a durable consumer for as long as the worker has room for them. */
export type Puller = {
  /** Call it when room was made. */
  roomMade(): void;
  /** Sends no further pull, and resolves when the open ones are filled or expired (about a second). */
  stop(): Promise<void>;
};

export type PullerOptions = {
  readonly stream: string;
  readonly consumer: string;
  readonly bytesMax: number;
  /** The ack wait of the consumer. */
  readonly ackWaitMs: () => number;
  /** No pull is sent before. */
  readonly whenReady?: Promise<void>;
  /** The clock of `createElapsed`, ms. */
  readonly elapsed: () => number;
  /** Checked before each pull: false = wait for `roomMade`. */
  readonly hasRoom: () => boolean;
  readonly onDelivery: (delivery: Delivery) => void;
  /** Called when pulls begin to fail. */
  readonly onFault: (error: unknown) => void;
  /** Called when they work again. */
  readonly onWell?: () => void;
};

/** Pulls are short, so that stopping needs no cancelled pull: a message sent to one would be lost for a whole ack wait. */
const pullExpiresMs = 1_000;
/** Past its expiry, a pull without a message from the server is over. */
const graceMs = 1_000;
const pauses = { firstMs: 200, mostMs: 1_000 };
/** Bytes limit a pull; the server demands a limit of messages, too. */
export const messagesMax = 5_000;

/**
 * `$JS.ACK.<stream>.<consumer>.<delivered>.<stream sequence>.…`; servers since 2.15 put domain and account before the stream.
 */
const readAckSubject = (reply: string): { deliveries: number; streamSequence: number } => {
  const tokens = reply.split('.');
  const offset = tokens.length > 9 ? 2 : 0;
  return { deliveries: Number(tokens[4 + offset]), streamSequence: Number(tokens[5 + offset]) };
};

/** The count in a header; 0 without one, and for other text. */
const countOf = (text: string | undefined): number => {
  const count = Number(text ?? '0');
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
};

const toDelivery = (bus: Bus, message: Msg, isLate: boolean): Delivery => {
  const reply = message.reply ?? '';
  const { deliveries, streamSequence } = readAckSubject(reply);
  const version = message.headers?.get(envelopeVersionHeader);
  const payload = ownBytes(message.data);
  return {
    payload,
    subject: message.subject,
    version: version === undefined || version === '' ? undefined : Number(version),
    streamSequence,
    redelivered: isLate || deliveries > 1,
    earlier: isLate ? undefined : deliveries - 1,
    redrive: countOf(message.headers?.get(redriveHeader)),
    serial: readSerial(message.headers?.get(serialHeader)),
    traceparent: message.headers?.get(traceHeader),
    ack: () => bus.nc.publish(reply, '+ACK'),
    nak: (delayMs) => bus.nc.publish(reply, `-NAK ${JSON.stringify({ delay: nanos(delayMs) })}`),
    working: () => bus.nc.publish(reply, '+WPI'),
    free: () => freeOwnBytes(payload),
  };
};

/** How a pull ended: the server's status (404, 408 and 409 are ordinary ends), or 0 without one. */
type PullEnd = { readonly code: number; readonly description: string; readonly deliveries: number };

const whyOf = (code: number, description: string): string =>
  code === 503
    ? 'NATS ended a pull: 503, nobody answers for the consumer: it, its stream or JetStream is missing'
    : `NATS ended a pull: ${code} ${description}`;

/** Tells the beginning and the end of a failure, not each pull of it. */
const createFailing = ({ onFault, onWell }: PullerOptions) => {
  let failures = 0;
  return {
    get failures() {
      return failures;
    },
    note: (why: string): void => {
      failures++;
      if (failures === 1) onFault(new Fault('transient', 'pull_failed', why));
    },
    end: (): void => {
      if (failures > 0) onWell?.();
      failures = 0;
    },
  };
};

/**
 * Pulls from a durable consumer until it is stopped. Sends pulls of its own: the client's `fetch` ends after a hundred messages when
 * bytes limit it, and takes the end of every full pull for an error.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one pull after the other, and its end.
export const startPuller = (bus: Bus, options: PullerOptions): Puller => {
  const { stream, consumer, bytesMax, ackWaitMs, elapsed } = options;
  const request = JSON.stringify({ batch: messagesMax, max_bytes: bytesMax, expires: nanos(pullExpiresMs) });
  const subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`;
  // No pull lasts longer, so only a process that was paused reads later: the ack wait may have begun when the pull was sent.
  const lateAfterMs = (): number => Math.min(pullExpiresMs + graceMs, ackWaitMs() / 2);
  let stopping = false;
  let wake: (() => void) | undefined;
  let endPull: ((code: number, description: string) => void) | undefined;

  const pullOnce = (): Promise<PullEnd> =>
    new Promise((resolve) => {
      let deliveries = 0;
      const sentAt = elapsed();
      const end = (code: number, description: string): void => {
        clearTimeout(timer);
        subscription.unsubscribe();
        endPull = undefined;
        resolve({ code, description, deliveries });
      };
      const inbox = bus.inbox();
      const subscription = bus.nc.subscribe(inbox, {
        callback: (error, message) => {
          if (error !== null) return end(0, error.message);
          if (
            message.subject !== inbox ||
            message.headers?.code === undefined ||
            message.headers.code === 0
          ) {
            deliveries++;
            options.onDelivery(toDelivery(bus, message, elapsed() - sentAt > lateAfterMs()));
          } else end(message.headers.code, message.headers.description);
        },
      });
      const timer = setTimeout(() => end(0, 'no answer from the NATS server'), pullExpiresMs + graceMs);
      // Messages on a lost connection are redelivered.
      endPull = end;
      bus.nc.publish(subject, request, { reply: inbox });
    });
  bus.onDisconnect(() => endPull?.(0, 'the connection to NATS is lost'));

  const waitForRoom = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });

  const failing = createFailing(options);

  const run = async (): Promise<void> => {
    await options.whenReady;
    while (!stopping) {
      // One write releases less than a pull brings: the new room need not be enough.
      while (!options.hasRoom() && !stopping) await waitForRoom();
      if (stopping) return;
      const { code, description, deliveries } = bus.connected
        ? await pullOnce()
        : { code: 0, description: 'the connection to NATS is lost', deliveries: 0 };
      const isOrdinary = code === 404 || code === 408 || (code === 409 && deliveries > 0);
      if (isOrdinary) {
        failing.end();
        continue;
      }
      // A lost connection has a line of its own.
      if (bus.connected) failing.note(whyOf(code, description));
      await new Promise((resolve) => setTimeout(resolve, backOffMs(pauses, Math.max(1, failing.failures))));
    }
  };
  const running = run();

  const roomMade = (): void => {
    wake?.();
    wake = undefined;
  };
  return {
    roomMade,
    stop: () => {
      stopping = true;
      roomMade();
      return running;
    },
  };
};
