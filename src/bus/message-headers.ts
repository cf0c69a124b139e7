/** Names the envelope's version without opening the payload. */
export const envelopeVersionHeader = 'Tidemark-Envelope';

/** JetStream stores a message with the same id once within its duplicate window. */
export const messageIdHeader = 'Nats-Msg-Id';

/** Its place in the publishers' book (`src/wire/message-serial.ts`); absent on messages of earlier versions and on redrives. */
export const serialHeader = 'Tidemark-Serial';

/** The trace of its request (W3C Trace Context); absent on most messages. */
export const traceHeader = 'traceparent';

/** The number of redrives from the dead letters; absent on its first way. */
export const redriveHeader = 'Tidemark-Redrive';

/** Marks a message that is stored together with others or not at all (JetStream's atomic batch publish, ADR-50). */
export const batchIdHeader = 'Nats-Batch-Id';
export const batchSequenceHeader = 'Nats-Batch-Sequence';
export const batchCommitHeader = 'Nats-Batch-Commit';
