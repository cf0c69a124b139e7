import { errorText, Fault } from '../model/fault.ts';
import { nothing, printJson, printLine } from './output.ts';

/**
 * A part of the way of an item: what happened there, and how long after the item was sent, in ms. `ok` is null where the admin API
 * answers no queries, so that nothing is known of it, and behind such a part: what is counted there may be another item. It is null for
 * the account of an item that is in its store, while its outcome is not recorded yet.
 */
export type Station = {
  readonly name: string;
  readonly ok: boolean | null;
  readonly ms: number;
  readonly detail: string;
};

/** A part of the way: answers what happened there, or throws. `isSeen`: the item was seen at all parts before. */
export type Stage = readonly [name: string, pass: (isSeen: boolean) => Promise<string>];

const nameWidth = 10;

const markOf = (ok: boolean | null): string => (ok === null ? nothing : ok ? 'ok' : 'NOT OK').padEnd(6);

const printStation = ({ name, ok, ms, detail }: Station): void =>
  printLine(`${markOf(ok)}  ${name.padEnd(nameWidth)}  ${`${Math.round(ms)} ms`.padStart(9)}  ${detail}`);

const failed = (error: unknown): Pick<Station, 'ok' | 'detail'> => {
  const code = error instanceof Fault ? error.code : undefined;
  const detail = errorText(error);
  if (code === 'explore_off') return { ok: null, detail: `not looked at: ${detail}` };
  return { ok: code === 'outcome_not_yet' ? null : false, detail };
};

/**
 * Passes the stages in order, and prints each as it is reached, or all of them as JSON. After a failed one the rest is left out, and
 * the exit code of this process is 1.
 */
export const followStages = async (stages: readonly Stage[], options: { json?: true }): Promise<void> => {
  const stations: Station[] = [];
  const begun = performance.now();
  for (const [name, pass] of stages) {
    const isSeen = stations.every(({ ok }) => ok === true);
    const outcome = await pass(isSeen).then((detail) => ({ ok: isSeen || null, detail }), failed);
    const station = { name, ...outcome, ms: performance.now() - begun };
    stations.push(station);
    if (options.json !== true) printStation(station);
    if (station.ok !== false) continue;
    process.exitCode = 1;
    break;
  }
  if (options.json === true) printJson({ well: stations.every(({ ok }) => ok !== false), stations });
};
