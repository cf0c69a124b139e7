import type { Step } from './stack/gate.ts';

/** The steps at which the tests stop a role, as a gate sees them. */
export type StepMatch = (step: Step) => boolean;

/** Of LEDGER the settled lines: refusals and examples come in their own time. */
const subjects = {
  METRICS: 'metrics.',
  TRACES: 'traces.',
  OTEL_METRICS: 'otel_metrics.',
  LEDGER: 'ledger.settled',
  DEADLETTER: 'deadletter.',
};

type StreamName = keyof typeof subjects;

/** Passes the first such step. */
export const second = (match: StepMatch): StepMatch => {
  let seen = 0;
  return (step) => match(step) && ++seen === 2;
};

/** A publish to a stream. */
export const publishTo =
  (stream: StreamName): StepMatch =>
  ({ from, text }) =>
    from === 'client' && text.startsWith(`HPUB ${subjects[stream]}`);

/** A word of the first line of an operation of NATS. */
const word = (text: string, index: number): string => text.split(' ', index + 1)[index] ?? '';

/** JetStream's confirmation of a publish to a stream. */
export const pubAckOf = (stream: StreamName): StepMatch => {
  const isPublish = publishTo(stream);
  const inboxes = new Set<string>();
  return (step) => {
    if (isPublish(step)) inboxes.add(word(step.text, 2));
    return step.from === 'server' && inboxes.has(word(step.text, 1));
  };
};

/** Whether this begins with a whole HTTP request, by its Content-Length. */
export const isWholeRequest = (text: string): boolean => {
  const end = text.indexOf('\r\n\r\n');
  const length = /^content-length: (\d+)\r$/im.exec(text.slice(0, end + 2))?.[1];
  return length !== undefined && text.length - end - 4 >= Number(length);
};

/** A write of a key of a KV bucket. */
export const putInto =
  (bucket: string): StepMatch =>
  ({ from, text }) =>
    from === 'client' && /^H?PUB /.test(text) && text.includes(` $KV.${bucket}.`);

/** The worker's ack of a message of a stream. */
export const ackOf =
  (stream: Exclude<StreamName, 'LEDGER'>): StepMatch =>
  ({ from, text }) =>
    from === 'client' &&
    text.startsWith('PUB $JS.ACK.') &&
    text.includes(`.${stream}.`) &&
    text.endsWith('+ACK\r\n');

/** The worker's ack of outcomes that are delivered from now on. */
export const ackOfOutcomes = (): StepMatch => {
  const delivered = new Set<string>();
  return ({ from, text }) => {
    if (from === 'server' && word(text, 1) === subjects.LEDGER) delivered.add(word(text, 3));
    return from === 'client' && text.endsWith('+ACK\r\n') && delivered.has(word(text, 1));
  };
};

/** A write of line protocol to QuestDB; with `from` bytes of it sent before. */
export const writeOfPoints =
  (offsetMin = 0): StepMatch =>
  ({ from, request, offset }) =>
    from === 'client' && request.startsWith('/write') && offset >= offsetMin;

/** QuestDB's 204: the rows are committed. */
export const pointsStored: StepMatch = ({ from, request, text }) =>
  from === 'server' && request.startsWith('/write') && text.startsWith('HTTP/1.1 204');

const isSpanInsert = (request: string): boolean => request.includes('INSERT INTO otel.otel_traces (');

/** An insert of spans into ClickHouse. */
export const insertOfSpans: StepMatch = ({ from, request, offset }) =>
  from === 'client' && offset === 0 && isSpanInsert(request);

/** ClickHouse's 200 to one: the rows are committed. */
export const spansStored: StepMatch = ({ from, request, text }) =>
  from === 'server' && isSpanInsert(request) && text.startsWith('HTTP/1.1 200');

const isOutcomesInsert = (request: string): boolean => request.includes('INSERT INTO otel.ingest_lines');

/** An insert of outcomes into ClickHouse. */
export const insertOfOutcomes: StepMatch = ({ from, request, offset }) =>
  from === 'client' && offset === 0 && isOutcomesInsert(request);

/** ClickHouse's 200 to one. */
export const outcomesStored: StepMatch = ({ from, request, text }) =>
  from === 'server' && isOutcomesInsert(request) && text.startsWith('HTTP/1.1 200');

/** A statement of QuestDB's SQL. */
export const sqlStatement =
  (pattern: RegExp, from: Step['from'] = 'client'): StepMatch =>
  (step) =>
    step.from === from && step.offset === 0 && step.request.startsWith('/exec') && pattern.test(step.request);
