import { readFileSync, writeFileSync } from 'node:fs';

const ticksPerSecond = 100;

/** CPU seconds (user and system) that a process has used, from the system's own accounting. */
export const cpuSeconds = (pid: number): number => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
};

const mebibytes = (pid: number, field: string): number => {
  const match = new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Math.round(Number(match?.[1] ?? 0) / 1024);
};

/** Memory the process holds now, MiB. */
export const residentMiB = (pid: number): number => mebibytes(pid, 'VmRSS');

/** Most memory the process has held since it started or since `resetPeak`, MiB. */
export const peakMiB = (pid: number): number => mebibytes(pid, 'VmHWM');

/** Restarts `peakMiB`; does nothing where the system does not allow it. */
export const resetPeak = (pid: number): void => {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Then the peak is that of the process's whole life, which is no less.
  }
};

/** Processes by the role they play. */
export type Processes = Readonly<Record<string, number>>;

export type Usage = {
  /** CPU seconds by role. */
  readonly cpu: Readonly<Record<string, number>>;
  /** Peak of memory by role, MiB. */
  readonly peak: Readonly<Record<string, number>>;
};

/** Starts to count the processes' usage; the returned function reports the usage since then. */
export const startUsage = (processes: Processes): (() => Usage) => {
  const before = Object.entries(processes).map(([role, pid]): [string, number, number] => {
    resetPeak(pid);
    return [role, pid, cpuSeconds(pid)];
  });
  return () => ({
    cpu: Object.fromEntries(before.map(([role, pid, used]) => [role, cpuSeconds(pid) - used])),
    peak: Object.fromEntries(before.map(([role, pid]) => [role, peakMiB(pid)])),
  });
};
