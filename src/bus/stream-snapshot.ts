import type { Msg } from '@nats-io/transport-node';
import { z } from 'zod';
import { Fault } from '../model/fault.ts';
import type { Bus } from './connection.ts';
import { faultOfApiError, toFault } from './nats-fault.ts';

/** The state of a stream when its snapshot was taken. `removed`: messages that were deleted before. */
export type SnapshotState = {
  readonly messages: number;
  readonly bytes: number;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly removed: number;
};

/** A snapshot without its bytes: the stream's configuration and state, as the server wrote them. */
export type SnapshotHead = { readonly config: Record<string, unknown>; readonly state: SnapshotState };

const chunkBytes = 256 * 1024;
const callMsMax = 10_000;
/** The server reads and packs whole files of the stream between two pieces. */
const silenceMsMax = 60_000;

const serverState = z.looseObject({
  messages: z.number(),
  bytes: z.number(),
  first_seq: z.number(),
  last_seq: z.number(),
});
const apiError = z.object({ err_code: z.number(), description: z.string().default('no reason given') });
const anyAnswer = z.object({ error: apiError.optional() });
const headAnswer = z.object({ config: z.record(z.string(), z.unknown()), state: serverState });
const startAnswer = z.object({ deliver_subject: z.string() });
const streamAnswer = z.object({ state: serverState });

const toState = ({ messages, bytes, ...state }: z.output<typeof serverState>): SnapshotState => ({
  messages,
  bytes,
  firstSequence: state.first_seq,
  lastSequence: state.last_seq,
  // The first sequence of an empty stream is the one that comes next.
  removed: state.last_seq - messages,
});

/** One request to the server; an answer with an error is its Fault. */
const ask = async (
  bus: Bus,
  subject: string,
  body: Uint8Array | string,
  timeout = callMsMax,
): Promise<Msg> => {
  const answer = await bus.nc.request(subject, body, { timeout }).catch((error: unknown) => {
    throw toFault(error);
  });
  const { error } = answer.data.length === 0 ? {} : anyAnswer.parse(answer.json());
  if (error !== undefined) throw faultOfApiError(error.err_code, error.description);
  return answer;
};

/** The messages of an inbox up to the one that marks the end. Throws a transient Fault when none comes for too long. */
const receive = async (
  bus: Bus,
  inbox: string,
  begin: () => Promise<void>,
  onPiece: (piece: Uint8Array) => Promise<void>,
): Promise<void> => {
  const subscription = bus.nc.subscribe(inbox);
  let isSilent = false;
  const timer = setTimeout(() => {
    isSilent = true;
    subscription.unsubscribe();
  }, silenceMsMax);
  try {
    await begin();
    for await (const message of subscription) {
      timer.refresh();
      const code = message.headers?.code ?? 0;
      if (code === 204 || (code === 0 && message.data.length === 0)) return;
      if (code !== 0) throw new Fault('transient', 'jetstream_error', `NATS ended the snapshot: ${code}`);
      await onPiece(message.data);
      // The server sends only a limited number of pieces ahead of the acknowledged ones.
      message.respond();
    }
    const why = isSilent ? 'no data from the NATS server' : 'the connection to NATS was lost';
    throw new Fault('transient', 'nats_unavailable', `the snapshot is incomplete: ${why}`);
  } finally {
    clearTimeout(timer);
    subscription.unsubscribe();
  }
};

/**
 * Reads a whole stream from the server, piece by piece; no message waits for it. The state is that of its beginning: messages
 * published meanwhile may be among the pieces, and messages removed meanwhile may be missing and take others with them, which the
 * caller has to prevent. It omits consumers on purpose: a consumer's position can be ahead of the messages of the same snapshot,
 * and messages published after a restore would be skipped. Throws a Fault: permanent `stream_not_found`, transient when it was
 * interrupted; the pieces received until then are useless.
 */
export const takeSnapshot = async (
  bus: Bus,
  stream: string,
  onPiece: (piece: Uint8Array) => Promise<void>,
): Promise<SnapshotHead> => {
  const inbox = bus.inbox();
  let head: SnapshotHead | undefined;
  const begin = async (): Promise<void> => {
    const request = { deliver_subject: inbox, no_consumers: true, chunk_size: chunkBytes };
    const answer = await ask(bus, `$JS.API.STREAM.SNAPSHOT.${stream}`, JSON.stringify(request), silenceMsMax);
    const { config, state } = headAnswer.parse(answer.json());
    head = { config, state: toState(state) };
  };
  await receive(bus, inbox, begin, onPiece);
  if (head === undefined)
    throw new Fault('internal', 'snapshot_without_head', `the snapshot of ${stream} has no header`);
  return head;
};

/** A key in the metadata of a restored stream; changes of its configuration keep it. */
export const restoredKey = 'tidemark-restore';

const metadataOf = (config: Record<string, unknown>): Record<string, string> =>
  z.record(z.string(), z.string()).catch({}).parse(config['metadata']);

/**
 * Restores the stream of a snapshot, with the replicas of the bus (default: those of the snapshot), and with this mark. It appears
 * at once and whole, or not at all. It does not remember the ids of its messages: a repeat of one is stored. Returns its state.
 * Throws a Fault: permanent `stream_name_in_use` for an existing stream.
 */
export const restoreSnapshot = async (
  bus: Bus,
  { config, state }: SnapshotHead,
  pieces: AsyncIterable<Uint8Array>,
  mark: string,
): Promise<SnapshotState> => {
  const replicas = bus.replicas === undefined ? {} : { num_replicas: bus.replicas };
  const request = {
    config: { ...config, ...replicas, metadata: { ...metadataOf(config), [restoredKey]: mark } },
    state: {
      messages: state.messages,
      bytes: state.bytes,
      first_seq: state.firstSequence,
      last_seq: state.lastSequence,
    },
  };
  const started = await ask(bus, `$JS.API.STREAM.RESTORE.${String(config['name'])}`, JSON.stringify(request));
  const { deliver_subject: subject } = startAnswer.parse(started.json());
  for await (const piece of pieces) await ask(bus, subject, piece, silenceMsMax);
  const ended = await ask(bus, subject, '', silenceMsMax);
  return toState(streamAnswer.parse(ended.json()).state);
};

/** Names of the file-stored streams with this prefix; buckets in memory hold nothing that is worth a copy. */
export const storedStreams = async (bus: Bus, prefix: string): Promise<string[]> => {
  try {
    const names: string[] = [];
    for await (const { config } of (await bus.manager()).streams.list()) {
      if (config.name.startsWith(prefix) && config.storage === 'file') names.push(config.name);
    }
    return names.sort();
  } catch (error) {
    throw toFault(error);
  }
};

/** The state of a stream now, and the mark of its restore. */
export type MarkedState = SnapshotState & { readonly mark: string | undefined };

/** The state of a stream now; undefined for a missing one. Throws transient Faults. */
export const stateOfStream = async (bus: Bus, stream: string): Promise<MarkedState | undefined> => {
  try {
    const { config, state } = await (await bus.manager()).streams.info(stream);
    return { ...toState(state), mark: config.metadata?.[restoredKey] };
  } catch (error) {
    const fault = toFault(error);
    if (fault.code === 'stream_not_found') return undefined;
    throw fault;
  }
};

/** Gives a stream another mark. Throws transient Faults. */
export const markStream = async (bus: Bus, stream: string, mark: string): Promise<void> => {
  try {
    const { streams } = await bus.manager();
    const { config } = await streams.info(stream);
    await streams.update(stream, { metadata: { ...config.metadata, [restoredKey]: mark } });
  } catch (error) {
    throw toFault(error);
  }
};
