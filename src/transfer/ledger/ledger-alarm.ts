import type { Bus } from '../../bus/connection.ts';
import { streamState } from '../../bus/stream-state.ts';
import { errorText } from '../../model/fault.ts';
import { startRounds } from '../../runtime/rounds.ts';
import type { Log } from '../../telemetry/log.ts';

/** Watches the fill level of a stream that must not become full. */
export type FillAlarm = {
  /** That the stream is over half of its budget, or undefined. */
  readonly problem: string | undefined;
  stop(): void;
};

export type FillAlarmOptions = {
  readonly stream: string;
  readonly bytesMax: number;
  /** Receives the bytes of each read. */
  readonly onFill: (bytes: number) => void;
  readonly log: Log;
  readonly intervalMs?: number;
};

/** Above this part of the budget it is a problem: half of the time until the stream refuses has passed. */
const alarmShare = 0.5;

export const startFillAlarm = (
  bus: Bus,
  { stream, bytesMax, onFill, log, intervalMs = 5_000 }: FillAlarmOptions,
): FillAlarm => {
  let problem: string | undefined;

  const note = (bytes: number): void => {
    onFill(bytes);
    const isHigh = bytes > bytesMax * alarmShare;
    const percent = Math.round((bytes / bytesMax) * 100);
    if (isHigh && problem === undefined)
      log.error(
        { stream, bytes, bytesMax },
        'the stream is more than half full; once it is full, nothing is acknowledged',
      );
    if (!isHigh && problem !== undefined)
      log.info({ stream, bytes, bytesMax }, 'the stream is less than half full again');
    problem = isHigh ? `stream ${stream} is ${percent} % full` : undefined;
  };

  const rounds = startRounds(async () => {
    try {
      if (bus.connected) note((await streamState(bus, stream)).bytes);
    } catch (error) {
      log.debug({ stream, error: errorText(error) }, 'the size of the stream could not be read');
    }
    return intervalMs;
  });
  return {
    get problem() {
      return problem;
    },
    stop: () => void rounds.stop(),
  };
};
