import { openRaw, type RawConnection, type RawOptions } from '../http/raw-client.ts';
import { waitFor } from '../wait.ts';
import { type Frame, flags, frame, framesIn, preface, settings, types } from './frames.ts';

const boundMs = 30_000;

/** A connection of HTTP/2 of which a test writes each frame; it acknowledges only what the test says. */
export type RawHttp2 = {
  readonly raw: RawConnection;
  /** What came so far. */
  readonly frames: () => readonly Frame[];
  /** Resolves with the first frame like this. */
  first(what: string, isIt: (frame: Frame) => boolean): Promise<Frame>;
  /** Waits for the SETTINGS of the server and acknowledges them. */
  acknowledgeSettings(): Promise<void>;
  /** Waits for a PING and acknowledges it. */
  acknowledgePing(): Promise<void>;
  /** Resolves once the trailers of a call have come. */
  answered(stream: number): Promise<void>;
};

const isRequest =
  (type: number) =>
  (each: Frame): boolean =>
    each.type === type && (each.bits & flags.ack) === 0;

/** Connects and sends the preface with these SETTINGS. */
export const openRawHttp2 = async (
  port: number,
  { first: firstFrame = settings(), ...options }: RawOptions & { readonly first?: Buffer } = {},
): Promise<RawHttp2> => {
  const raw = await openRaw(port, options);
  raw.send(Buffer.concat([preface, firstFrame]));
  const frames = (): Frame[] => framesIn(raw.text);
  const first: RawHttp2['first'] = async (what, isIt) => {
    await waitFor(what, boundMs, () => frames().some(isIt));
    const found = frames().find(isIt);
    if (found === undefined) throw new Error(`no ${what}`);
    return found;
  };
  return {
    raw,
    frames,
    first,
    acknowledgeSettings: async () => {
      await first('SETTINGS', isRequest(types.settings));
      raw.send(frame(types.settings, flags.ack, 0));
    },
    acknowledgePing: async () => {
      const { payload } = await first('PING', isRequest(types.ping));
      raw.send(frame(types.ping, flags.ack, 0, payload));
    },
    answered: async (stream) => {
      await first(
        `answer to ${stream}`,
        (each) =>
          each.stream === stream && each.type === types.headers && (each.bits & flags.endStream) !== 0,
      );
    },
  };
};
