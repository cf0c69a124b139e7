import {
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Peer } from '../../http/incoming.ts';
import { Budget } from './budget.ts';
import type { Carrier } from './carrier.ts';

/** Limits of a connection. Times in ms; 0 = no limit. */
export type ConnectionLimits = {
  /** Until the client's first SETTINGS. */
  readonly headersTimeoutMs: number;
  /** Without an open call. */
  readonly idleTimeoutMs: number;
  /** The longest life: connections end at a random time between the half of it and this, once their calls are answered. */
  readonly ageMsMax: number;
};

/** Calls of a connection at one time. */
export const callsMax = 100;
/** Work of calls that their clients reset goes on: more of it than this ends the connection. */
const workMax = 2 * callsMax;
/** PINGs and SETTINGS: clients send a few beside each call, to measure the way or to keep the connection. */
const controlBurst = 200;
const controlPerSecond = 5;
const controlPerCall = 4;
/** Calls that a client may reset. */
export const resetBurst = 200;
export const resetsPerSecond = 20;
/** The notice of the end takes the way to the client and back; where nothing comes back, the end comes after this time. */
const noticeMs = 10_000;
/** After the last call of an ending connection, and after the reset of a call. */
const lastMs = 2000;

const isOfGo = ({ 'user-agent': agent = '' }: IncomingHttpHeaders): boolean => agent.includes('grpc-go/');

/** Why the receiver ends a connection with all that is open on it, and the code of its GOAWAY. */
const endCodes = {
  flood: constants.NGHTTP2_ENHANCE_YOUR_CALM,
  header_timeout: constants.NGHTTP2_SETTINGS_TIMEOUT,
  stalled: constants.NGHTTP2_NO_ERROR,
} as const;
/** By this word clients of gRPC lengthen the time between their PINGs. */
const tooManyPings = Buffer.from('too_many_pings');

/** After the end of a connection's last frame. */
const lingerMs = 2000;

/** What is sent still arrives; a client that does not read it, or does not close its side, is cut. */
export const cutLater = (socket: Socket): void => {
  setTimeout(() => socket.destroy(), lingerMs).unref();
};

export type ConnectionEvents = {
  /** A call begins; the promise is its work. */
  readonly serve: (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    /** The same as they came, names and values in turn. */
    fields: readonly string[],
    connection: Connection,
  ) => Promise<void>;
  /** The receiver ends the connection, with the reason. */
  readonly onEnded: (reason: string) => void;
};

/** The error of a session that its Connection has ended, and counted. */
export class EndedHere extends Error {}

/** A connection over HTTP/2: its calls, and its end. */
export class Connection {
  readonly peer: Peer;
  /** Called once when the connection begins to end: calls without an end of their own end now. */
  readonly onEnding = new Set<() => void>();
  private readonly session: ServerHttp2Session;
  private readonly socket: Socket;
  private readonly carrier: Carrier;
  private readonly events: ConnectionEvents;
  private readonly control: Budget;
  private readonly resets: Budget;
  private readonly openedAt: number;
  private readonly endsAt: number;
  private hasSettings = false;
  /** The open calls, the oldest first. */
  private readonly calls = new Set<ServerHttp2Stream>();
  /** The call whose reset the client has not read, and when that was seen first. */
  private unread: { readonly call: ServerHttp2Stream; readonly since: number } | undefined;
  private work = 0;
  private idleSince: number;
  /** When the end comes at the latest, once the connection has begun to end. */
  private closesBy: number | undefined;
  private isNoticed = false;
  /** Whether a call of grpc-go has ended without a reset; and the last error of a call. */
  private hasServed = false;
  private lastError: Error | undefined;
  private closedAt: number | undefined;
  private isCut = false;

  constructor(
    session: ServerHttp2Session,
    socket: Socket,
    carrier: Carrier,
    limits: ConnectionLimits,
    events: ConnectionEvents,
  ) {
    const now = performance.now();
    this.session = session;
    this.socket = socket;
    this.carrier = carrier;
    this.peer = { remoteAddress: socket.remoteAddress };
    this.events = events;
    this.control = new Budget(controlBurst, controlPerSecond, now);
    this.resets = new Budget(resetBurst, resetsPerSecond, now);
    this.openedAt = now;
    this.idleSince = now;
    this.endsAt =
      limits.ageMsMax > 0 ? now + (limits.ageMsMax * (1 + Math.random())) / 2 : Number.POSITIVE_INFINITY;
    session.on('remoteSettings', () => {
      this.hasSettings = true;
      this.countControl();
    });
    session.on('localSettings', () => {
      if (this.isEnding) this.notify();
    });
    session.on('ping', () => this.countControl(tooManyPings));
    session.on('stream', (stream, headers, _flags, fields) => this.begin(stream, headers, fields));
  }

  private countControl(debugData?: Buffer): void {
    if (!this.control.spend(performance.now())) this.destroy('flood', debugData);
  }

  private begin(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, fields: readonly string[]): void {
    // A client may reset any call at any time. An error of the connection is one of each call that it cuts.
    stream.on('error', (error) => {
      this.lastError = error;
    });
    if (this.work >= workMax) {
      this.destroy('flood');
      return;
    }
    this.calls.add(stream);
    this.work++;
    this.control.earn(controlPerCall);
    stream.on('close', () => {
      this.calls.delete(stream);
      const now = performance.now();
      this.idleSince = now;
      // A reset may have the code NO_ERROR, too.
      const isReset = stream.aborted || stream.rstCode !== constants.NGHTTP2_NO_ERROR;
      if (!isReset && isOfGo(headers)) this.hasServed = true;
      if (isReset && !this.resets.spend(now)) this.destroy('flood');
    });
    void this.events.serve(stream, headers, fields, this).finally(() => {
      this.work--;
    });
  }

  /** Whether the connection has served calls of grpc-go, and this error of it has cut none. */
  isAfterCalls(error: Error): boolean {
    return this.hasServed && this.lastError !== error;
  }

  /** Whether it has begun to end. */
  get isEnding(): boolean {
    return this.closesBy !== undefined;
  }

  /** Ends it with all that is open on it. */
  private destroy(reason: keyof typeof endCodes, debugData?: Buffer): void {
    if (this.session.destroyed) return;
    this.events.onEnded(reason);
    const code = endCodes[reason];
    if (debugData !== undefined) this.session.goaway(code, 0, debugData);
    // Without an error, Node sends NO_ERROR in place of the code.
    this.session.destroy(code === constants.NGHTTP2_NO_ERROR ? undefined : new EndedHere(reason), code);
    cutLater(this.socket);
  }

  /**
   * Ends it so that no call is lost (RFC 9113 section 6.8): the client learns that it should begin no more calls here; those that it
   * has begun meanwhile are served; then the connection closes. Called again, it may only bring the latest time of the end forward.
   */
  end(withinMs = noticeMs): void {
    if (this.session.destroyed) return;
    const closesBy = performance.now() + withinMs;
    const isBegun = this.closesBy !== undefined;
    this.closesBy = Math.min(this.closesBy ?? closesBy, closesBy);
    if (isBegun) return;
    for (const ending of this.onEnding) ending();
    this.notify();
  }

  /** A call that was begun before the client had the notice comes before the answer to the PING behind the notice. */
  private notify(): void {
    if (this.isNoticed || this.session.closed || this.session.destroyed) return;
    // The notice must not come before the SETTINGS of the receiver: the client has read them once it acknowledges them.
    if (this.session.pendingSettingsAck || !this.carrier.notify()) return;
    this.isNoticed = true;
    this.session.ping(() => this.close());
  }

  private close(): void {
    if (this.closedAt !== undefined || this.session.destroyed) return;
    this.closedAt = performance.now();
    this.session.close();
  }

  /** Whether a call that was reset some time ago is still open: the reset waits behind what the client does not read. */
  private isUnread(now: number): boolean {
    const call = this.calls.values().find(({ closed }) => closed);
    if (call === undefined) this.unread = undefined;
    else if (this.unread?.call !== call) this.unread = { call, since: now };
    return this.unread !== undefined && now - this.unread.since > lastMs;
  }

  /** Looks after its times. */
  sweep(now: number, { headersTimeoutMs, idleTimeoutMs }: ConnectionLimits): void {
    if (this.session.destroyed) {
      // Node says that the session has closed only once its socket has, which a client may hold open.
      if (!this.isCut) cutLater(this.socket);
      this.isCut = true;
      return;
    }
    if (this.isUnread(now)) {
      this.destroy('stalled');
      this.socket.destroy();
      return;
    }
    const isIdle = this.calls.size === 0;
    if (this.closesBy !== undefined) {
      if (now > this.closesBy) this.close();
      else this.notify();
      const since = Math.max(this.closedAt ?? now, this.idleSince);
      if (isIdle && now - since > lastMs) {
        this.session.destroy();
        cutLater(this.socket);
      }
      return;
    }
    if (!this.hasSettings) {
      if (headersTimeoutMs > 0 && now - this.openedAt > headersTimeoutMs) this.destroy('header_timeout');
      return;
    }
    if (isIdle && idleTimeoutMs > 0 && now - this.idleSince > idleTimeoutMs) {
      this.events.onEnded('idle');
      this.end();
    } else if (now > this.endsAt) {
      this.events.onEnded('age');
      this.end();
    }
  }
}
