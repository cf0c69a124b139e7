import type { Bus } from '../../../src/bus/connection.ts';
import { connectBus } from '../../../src/bus/connection.ts';
import type { LedgerKind, RefusalRow, SampleRow } from '../../../src/outcomes/rows.ts';

/** Everything that is published to LEDGER, as it is published: what consumes the stream takes nothing from it. */
export type LedgerTap = {
  readonly bus: Bus;
  refusals(): RefusalRow[];
  samples(): SampleRow[];
  /** All payloads as they came. */
  text(): string;
  stop(): Promise<void>;
};

/** Listens on `ledger.>` from now on. */
export const startLedgerTap = async (natsUrl: string): Promise<LedgerTap> => {
  const bus = await connectBus(natsUrl, 'ledger-tap');
  const payloads: { subject: string; text: string }[] = [];
  bus.nc.subscribe('ledger.>', {
    callback: (_, message) => {
      payloads.push({ subject: message.subject, text: message.string() });
    },
  });
  await bus.nc.flush();
  const rowsOf = <T>(kind: LedgerKind): T[] =>
    payloads
      .filter(({ subject }) => subject === `ledger.${kind}`)
      .flatMap(({ text }) => text.split('\n').filter((line) => line !== ''))
      .map((line): T => JSON.parse(line));
  return {
    bus,
    refusals: () => rowsOf<RefusalRow>('refusals'),
    samples: () => rowsOf<SampleRow>('samples'),
    text: () => payloads.map(({ text }) => text).join(''),
    stop: () => bus.close(),
  };
};
