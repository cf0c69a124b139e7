/**
 * Counts how often a message failed alone while the store accepted others: a message that makes the store fail each time must not
 * be retried for ever. A store that accepts nothing at all proves nothing against a message.
 */
export type LoneFailures = {
  /** Reports that the store accepted a message. */
  stored(): void;
  /** Reports that the message failed by itself. True once that has happened `attemptsMax` times with others stored in between. */
  failed(streamSequence: number): boolean;
};

/** Above this number the oldest are forgotten: their count restarts. */
const messagesMax = 10_000;

export const createLoneFailures = (attemptsMax: number): LoneFailures => {
  let storedCount = 0;
  const known = new Map<number, { attempts: number; storedCount: number }>();
  return {
    stored: () => {
      storedCount++;
    },
    failed: (sequence) => {
      const before = known.get(sequence);
      const proves = before === undefined || storedCount > before.storedCount;
      const attempts = (before?.attempts ?? 0) + (proves ? 1 : 0);
      known.delete(sequence);
      known.set(sequence, { attempts, storedCount });
      const oldest = known.size > messagesMax ? known.keys().next().value : undefined;
      if (oldest !== undefined) known.delete(oldest);
      return attempts >= attemptsMax;
    },
  };
};
