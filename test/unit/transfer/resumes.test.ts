import { beforeEach, describe, expect, it } from 'vitest';
import { systemKeys } from '../../../src/directory/keys.ts';
import { watchResumes } from '../../../src/transfer/resumes.ts';
import { createMemoryBucket, type MemoryBucket } from '../../support/stack/memory-bucket.ts';

let system: MemoryBucket;
let reset: string[];
let time: number;

/** An order to resume, as metadata gives it. */
const resume = (pipeline: string): Promise<number> => system.put(systemKeys.resume(pipeline), { at: ++time });

const begin = (): void => {
  const pipelines = ['metrics', 'traces', 'ledger'];
  watchResumes(system, new Map(pipelines.map((pipeline) => [pipeline, () => reset.push(pipeline)])));
  system.snapshot();
};

beforeEach(() => {
  system = createMemoryBucket();
  reset = [];
  time = 1_800_000_000_000;
});

// Each time too often, a breaker that opened for a new reason lets a thousand items more go to the dead letters.
describe('an order to resume a consumer', () => {
  it('counts for its pipeline alone, and each one counts', async () => {
    begin();
    await resume('traces');
    system.tell();
    await resume('traces');
    await resume('ledger');
    system.tell();
    expect(reset).toEqual(['traces', 'traces', 'ledger']);
  });

  it('counts once, however often the state is read again', async () => {
    begin();
    await resume('traces');
    system.tell();
    system.snapshot();
    system.snapshot();
    expect(reset).toEqual(['traces']);
  });

  it('from before the start of this process does not count', async () => {
    await resume('traces');
    begin();
    system.snapshot();
    expect(reset).toEqual([]);
    await resume('traces');
    system.tell();
    expect(reset).toEqual(['traces']);
  });

  it('that is given while the connection is lost counts after the reconnect', async () => {
    await resume('metrics');
    begin();
    await resume('metrics');
    await resume('traces');
    system.snapshot();
    expect(reset).toEqual(['metrics', 'traces']);
  });

  it('does not count again where a lost bucket is filled with it, and the next one does', async () => {
    begin();
    await resume('traces');
    system.tell();
    await system.put(systemKeys.resume('traces'), { at: time });
    system.snapshot();
    expect(reset).toEqual(['traces']);
    await resume('traces');
    system.tell();
    expect(reset).toEqual(['traces', 'traces']);
  });

  it('that was removed is none, and does not count when it comes back', async () => {
    begin();
    await resume('traces');
    system.tell();
    await system.delete(systemKeys.resume('traces'));
    await system.put(systemKeys.resume('traces'), { at: time });
    system.tell();
    expect(reset).toEqual(['traces']);
  });
});
