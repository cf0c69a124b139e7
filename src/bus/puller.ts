import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import type { Bus } from './connection.ts';
import { toFault } from './nats-fault.ts';

/** A message as a worker holds it until it is settled. */
export type Delivery = {
  readonly payload: Uint8Array;
  readonly subject: string;
  /** Envelope version from the NATS header, where there is one. */
  readonly version: number | undefined;
  readonly streamSequence: number;
  readonly redelivered: boolean;
  ack(): void;
  /** Gives it back, to be delivered again after this time. */
  nak(delayMs: number): void;
  /** Says that the work goes on, so that the ack wait starts anew. */
  working(): void;
};

/** Takes messages from a durable consumer for as long as there is room for them. */
export type Puller = {
  /** To be called when room was made. */
  roomMade(): void;
  /** Asks for no more and resolves when what was asked for has arrived or expired (about a second). */
  stop(): Promise<void>;
};

export type PullerOptions = {
  readonly stream: string;
  readonly consumer: string;
  readonly bytesMax: number;
  /** Asked before each pull: false = wait for `roomMade`. */
  readonly hasRoom: () => boolean;
  readonly onDelivery: (delivery: Delivery) => void;
  readonly onFault: (error: unknown) => void;
};

/** Pulls are short, so that stopping needs no cancelled pull: a message sent to one would be lost for a whole ack wait. */
const pullExpiresMs = 1_000;
const pauseAfterFaultMs = 200;

const toDelivery = (message: JsMsg): Delivery => {
  const version = message.headers?.get('Tidemark-Envelope');
  return {
    payload: message.data,
    subject: message.subject,
    version: version === undefined || version === '' ? undefined : Number(version),
    streamSequence: message.info.streamSequence,
    redelivered: message.redelivered,
    ack: () => message.ack(),
    nak: (delayMs) => message.nak(delayMs),
    working: () => message.working(),
  };
};

export const startPuller = (bus: Bus, options: PullerOptions): Puller => {
  let stopping = false;
  let wake: (() => void) | undefined;
  let current: ConsumerMessages | undefined;

  const waitForRoom = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });
  bus.onDisconnect(() => {
    // What it would still yield is delivered again; waiting for its heartbeat would only cost time.
    void current?.close();
  });

  const pullOnce = async (consumer: Consumer): Promise<void> => {
    const messages = await consumer.fetch({ max_bytes: options.bytesMax, expires: pullExpiresMs });
    current = messages;
    for await (const message of messages) options.onDelivery(toDelivery(message));
    current = undefined;
  };

  const run = async (): Promise<void> => {
    let consumer: Consumer | undefined;
    while (!stopping) {
      if (!options.hasRoom()) await waitForRoom();
      if (stopping) return;
      try {
        consumer ??= await bus.js.consumers.get(options.stream, options.consumer);
        await pullOnce(consumer);
      } catch (error) {
        options.onFault(toFault(error));
        consumer = undefined;
        await new Promise((resolve) => setTimeout(resolve, pauseAfterFaultMs));
      }
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
