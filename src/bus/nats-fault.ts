import { JetStreamApiError } from '@nats-io/jetstream';
import { jserrors } from '@nats-io/jetstream/internal';
import { type NatsConnection, PermissionViolationError } from '@nats-io/transport-node';
import { counted } from '../model/counted.ts';
import { errorText, Fault } from '../model/fault.ts';

/** JetStream API error codes that mean more than "try again": err_code -> code of the Fault. */
const permanentCodes: Readonly<Record<number, string>> = {
  10071: 'kv_conflict', // wrong last sequence: a compare-and-set lost
  10164: 'kv_conflict', // the same, of a replicated bucket while another write of the key is under way
  10058: 'stream_name_in_use',
  10059: 'stream_not_found',
  10014: 'consumer_not_found',
  10043: 'message_not_found', // no message has this sequence
  10057: 'message_not_found', // the same, of a removal
  10148: 'consumer_differs', // exists already, with another definition
};

const transientCodes: Readonly<Record<number, string>> = {
  10077: 'stream_full', // maximum bytes exceeded with discard: new
  10122: 'stream_full', // maximum messages exceeded
  10047: 'insufficient_storage',
  10023: 'insufficient_resources',
  10008: 'jetstream_leaderless', // less than half of the servers are in touch with each other
};

/** What to do about a refusal whose words do not say it. */
const remedies: Readonly<Record<number, string>> = {
  10074: ': set TIDEMARK_NATS_REPLICAS=1 for a NATS of one server', // replicas > 1 not supported in non-clustered mode
};

/** No suitable peers for placement: of a full disk, or of a tag that no server has, the words say so. */
const noPeers = 10005;
const otherReason = 'for placement,';
const startOrLower =
  ': as many NATS servers have to run as it has copies: start more, or lower TIDEMARK_NATS_REPLICAS';

/** A restore wraps the refusal of its stream, with the number in its words. */
const remedyOf = (errCode: number, description: string): string => {
  const inner = /\((\d+)\)$/.exec(description)?.[1];
  const number = inner === undefined ? errCode : Number(inner);
  if (number === noPeers && !description.includes(otherReason)) return startOrLower;
  return remedies[number] ?? '';
};

/** The Fault for a JetStream `err_code`; unknown ones are transient. */
export const faultOfApiError = (errCode: number, description: string): Fault => {
  const permanent = permanentCodes[errCode];
  if (permanent !== undefined)
    return new Fault('permanent', permanent, `JetStream: ${description} (${errCode})`);
  return new Fault(
    'transient',
    transientCodes[errCode] ?? 'jetstream_error',
    `JetStream: ${description} (${errCode})${remedyOf(errCode, description)}`,
  );
};

/** What the user of NATS may not do, and where its rights are described. */
export const notPermittedText = ({ operation, subject }: PermissionViolationError): string =>
  `the user of NATS may not ${operation === 'publish' ? 'publish to' : 'subscribe to'} ${subject}: give it the rights of its role (docs/operations.md, Users of NATS)`;

/** The refusal behind an error: the client wraps those of requests. */
const violationOf = (error: unknown): PermissionViolationError | undefined => {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof PermissionViolationError) return cause;
  return undefined;
};

/**
 * Maps an error of the NATS client to a Fault, by number or class. No answer, no responders and closed connections are transient; a
 * missing right is permanent `nats_not_permitted`.
 */
export const toFault = (error: unknown): Fault => {
  if (error instanceof Fault) return error;
  const violation = violationOf(error);
  if (violation !== undefined)
    return new Fault('permanent', 'nats_not_permitted', notPermittedText(violation), error);
  if (error instanceof JetStreamApiError) return faultOfApiError(error.code, error.message);
  // Its words for a request that nobody answered: a leader that died has no successor yet.
  if (error instanceof jserrors.JetStreamNotEnabled)
    return new Fault(
      'transient',
      'jetstream_leaderless',
      'NATS: no server leads the stream or bucket just now, or JetStream is off',
      error,
    );
  return new Fault('transient', 'nats_unavailable', `NATS: ${errorText(error)}`, error);
};

/** The Fault of a stream or bucket with this number of copies. Where servers lack for them, it has both numbers. */
export const toFaultOfCopies = (
  error: unknown,
  copies: number,
  { info }: Pick<NatsConnection, 'info'>,
): Fault => {
  const fault = toFault(error);
  const { kind, code, message } = fault;
  if (!message.endsWith(startOrLower)) return fault;
  const servers = counted(info?.connect_urls?.length ?? 0, 'server');
  return new Fault(
    kind,
    code,
    `${message} (${counted(copies, 'copy', 'copies')}; NATS names ${servers})`,
    error,
  );
};

/** What was looked for; undefined where this stream or consumer does not exist. Throws every other Fault. */
export const unlessMissing = async <T>(look: Promise<T>): Promise<T | undefined> => {
  try {
    return await look;
  } catch (error) {
    const fault = toFault(error);
    if (fault.code === 'stream_not_found' || fault.code === 'consumer_not_found') return undefined;
    throw fault;
  }
};
