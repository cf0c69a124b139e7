import { describe, expect, it } from 'vitest';
import {
  actsOf,
  type Done,
  doneText,
  filterOf,
  pickedOf,
  runAll,
  stoppedConsumers,
  targetOf,
  waitingOf,
} from '../../../console/src/pages/dead-letters/bulk.ts';

const anyTime = { since: 0, until: undefined };
const filterIn = (text: string, range = anyTime) => filterOf(new URLSearchParams(text), range);

describe('the filter in an address', () => {
  it('has the names of the API, and owners of both kinds', () => {
    expect(filterIn('pipeline=metrics&owner=1500001&reason=row_refused&table=t')).toEqual({
      pipeline: 'metrics',
      data_id: 1_500_001,
      reason: 'row_refused',
      table: 't',
    });
    expect(filterIn('owner=app:7')).toEqual({ app_id: 7 });
    expect(filterOf(new URLSearchParams(), { since: 5, until: undefined })).toEqual({ since: 5 });
  });

  // An act on "all that match" must not take a filter that it cannot read for none.
  it.each(['owner=all', 'owner=app:', 'owner=-1', 'pipeline=any'])('%s is no filter at all', (text) => {
    expect(filterIn(text)).toBeUndefined();
  });
});

describe('the target of an act', () => {
  it('is the picked ones, else what the filter matches, else all, by its own name', () => {
    expect(targetOf({ reason: 'x' }, [3, 4])).toEqual({ sequences: [3, 4] });
    expect(targetOf({ reason: 'x' }, [])).toEqual({ reason: 'x' });
    expect(targetOf({}, [])).toEqual({ all: true });
  });

  it('has each picked one once', () => {
    expect(pickedOf('3,4,3')).toEqual([3, 4]);
    expect(pickedOf('')).toEqual([]);
  });

  // Taken for none, it made an act on the selected ones an act on all.
  it.each(['abc', '3,x', '3,,4', '-1', '0', '1.5', '1234567890123'])(
    'is not known where %s is picked, which is no list of sequences',
    (text) => {
      expect(pickedOf(text)).toBeUndefined();
    },
  );
});

const part = (done: number, next: string | null, failed: Done['failed'] = []): Done => ({
  matched: done + failed.length,
  items: done * 2,
  done,
  failed,
  next_cursor: next,
  first_cursor: '1-9',
});

describe('an act on many', () => {
  it('follows the cursors to the end, and tells the sum after each call', async () => {
    const refused = [{ sequence: 9, code: 'not_redrivable', detail: 'no' }];
    const answers = [part(1_000, '1-9'), part(500, '5-9', refused), part(3, null)];
    const bodies: unknown[] = [];
    const sums: number[] = [];
    let last: Done | undefined;
    await runAll(
      async (body) => {
        bodies.push(body);
        return answers.shift() ?? part(0, null);
      },
      { pipeline: 'traces' },
      true,
      (sum) => {
        sums.push(sum.done);
        last = sum;
      },
      () => true,
    );
    expect(bodies).toEqual([
      { pipeline: 'traces', dry_run: true, limit: 1_000 },
      { pipeline: 'traces', dry_run: true, limit: 1_000, cursor: '1-9' },
      { pipeline: 'traces', dry_run: true, limit: 1_000, cursor: '5-9' },
    ]);
    expect(sums).toEqual([1_000, 1_500, 1_503]);
    expect(last).toMatchObject({ matched: 1_504, items: 3_006, failed: refused });
  });

  it('takes from the cursor of its dry run on what that saw, and nothing that came later', async () => {
    const sums: Done[] = [];
    const cursors: unknown[] = [];
    const ask = async ({ cursor }: { cursor?: string }): Promise<Done> => {
      cursors.push(cursor);
      return part(3, null);
    };
    const act = (isDryRun: boolean, first?: string | null) =>
      runAll(
        ask,
        { all: true },
        isDryRun,
        (sum) => sums.push(sum),
        () => true,
        first,
      );
    await act(true);
    await act(false, sums.at(-1)?.first_cursor);
    expect(cursors).toEqual([undefined, '1-9']);
  });

  it('begins no further call once the reader has left', async () => {
    let calls = 0;
    const ask = async (): Promise<Done> => part(++calls, 'more');
    await runAll(
      ask,
      { all: true },
      false,
      () => undefined,
      () => false,
    );
    expect(calls).toBe(1);
  });

  it('is said in the words of the CLI', () => {
    expect(doneText({ ...part(1, null), items: 1 }, 'redrive', true)).toBe(
      '1 dead letter (1 item) would be redriven',
    );
    expect(doneText(part(1_200, null), 'purge', false)).toBe('1,200 dead letters (2,400 items) purged');
  });
});

describe('the acts of the live view', () => {
  it('are none where the event has another form', () => {
    for (const data of [undefined, null, 'acts', {}, { acts: 1 }, { acts: [null, 3] }])
      expect(actsOf(data)).toEqual([]);
  });

  it('have their figures', () => {
    const act = {
      ...{ id: 'a-1', act: 'redrive', dry_run: false, started_at: 5, matched: 9, done: 4, failed: 1 },
      has_ended: false,
    };
    expect(actsOf({ acts: [act] })).toEqual([act]);
  });
});

type Process = Parameters<typeof stoppedConsumers>[0][number];

const transfer = (
  label: string,
  open: boolean,
  held = false,
  state: Process['state'] = 'ready',
): Process => ({
  state,
  pipelines: [
    {
      pipeline: label,
      items_per_second: 0,
      rows_per_second: 0,
      dropped_per_second: 0,
      dead_lettered_per_second: 0,
      bytes_per_second: 0,
      acks_per_second: 0,
      retries_per_second: 0,
      write_p99_ms: null,
      held_bytes: 0,
      tables_set_aside: 0,
      messages_waiting: 0,
      breaker_open: open,
      held_by_dead_letters: held,
    },
  ],
});

describe('stopped consumers', () => {
  it('are named by pipeline, with the number of their processes; those of a gone process do not count', () => {
    const processes = [
      transfer('traces', true),
      transfer('traces', false),
      transfer('metrics-b', true),
      transfer('ledger', false, true),
      transfer('traces', true, false, 'gone'),
    ];
    expect(stoppedConsumers(processes)).toEqual([
      { pipeline: 'metrics', why: 'stopped', processes: 1, of: 1 },
      { pipeline: 'traces', why: 'stopped', processes: 1, of: 2 },
      { pipeline: 'ledger', why: 'held', processes: 1, of: 1 },
    ]);
    expect(stoppedConsumers([transfer('traces', false)])).toEqual([]);
  });
});

it('the messages that wait for a pipeline are those of all its streams, given to a worker or not', () => {
  const of = (stream: string, pending: number, ack_pending: number) => ({ stream, pending, ack_pending });
  const streams = [of('METRICS', 3, 1), of('METRICS-b', 10, 0), of('TRACES', 7, 0)];
  expect(waitingOf(streams, 'metrics')).toBe(14);
  expect(waitingOf(streams, 'ledger')).toBe(0);
});
