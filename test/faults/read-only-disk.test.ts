import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Durability } from '../../src/config/settings.ts';
import { pushProbe, spanProbe } from '../support/push/line-probes.ts';
import { missedByTransfer } from '../support/stack/readiness.ts';
import { startStack } from '../support/stack/stack.ts';
import { waitFor } from '../support/wait.ts';

type EngineName = 'nats' | 'questdb' | 'clickhouse';

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' }).trim();

/**
 * A separate file system in a file. Linux makes one read-only when it meets an error on its disk, and this one does so
 * when `breakIt` reports such an error; it is writable again after the next mount.
 */
const mountBreakable = (folder: string, megabytes: number) => {
  const image = `${folder}.img`;
  mkdirSync(folder, { recursive: true });
  // Sparse: only what is written takes room.
  run('truncate', '--size', `${megabytes}M`, image);
  run('mkfs.ext4', '-q', '-F', '-O', '^has_journal', image);
  const mount = (): void => void run('mount', '-o', 'loop,errors=remount-ro', image, folder);
  mount();
  return {
    breakIt: (): void => {
      // What the system had not written yet would be gone, and this is about a disk that keeps what it has.
      run('sync', '--file-system', folder);
      const device = basename(run('findmnt', '--noheadings', '--output', 'SOURCE', folder));
      writeFileSync(`/sys/fs/ext4/${device}/trigger_fs_error`, '1');
    },
    mountAnew: (): void => {
      run('umount', folder);
      mount();
    },
    end: (): void => {
      run('umount', '--lazy', folder);
      rmSync(image, { force: true });
    },
  };
};

const canMount = ((): boolean => {
  const folder = `/tmp/tidemark-breakable-${process.pid}`;
  try {
    const disk = mountBreakable(folder, 8);
    disk.breakIt();
    disk.end();
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(`${folder}.img`, { force: true });
  }
})();

const stackOn = async (wanted: EngineName, durability: Durability = 'process') => {
  let disk: ReturnType<typeof mountBreakable> | undefined;
  const stack = await startStack({
    traces: wanted === 'clickhouse',
    durability,
    onEngineFolder: (name, folder) => {
      if (name !== wanted) return undefined;
      disk = mountBreakable(folder, 1024);
      return disk.end;
    },
  });
  onTestFinished(() => stack.stop());
  return {
    stack,
    breakIt: (): void => disk?.breakIt(),
    /** The steps of the operator: the engine is ended, its disk mounted again, and the engine started. */
    mend: async (): Promise<void> => {
      await stack.engines[wanted].kill();
      disk?.mountAnew();
      await stack.engines[wanted].start();
    },
  };
};

// Needs the right to mount, loop devices and ext4.
describe.skipIf(!canMount)('a disk that has become read-only', () => {
  it("QuestDB's: pushes are still accepted, readiness reports that nothing is stored, and once it is writable again all of it is, once", async () => {
    // Without the sync of each commit QuestDB confirms for seconds what it has in memory only: docs/stores-in-trouble.md.
    const { stack, breakIt, mend } = await stackOn('questdb', 'power');
    const { table, push } = await pushProbe(stack);
    expect(await push(10)).toBe(200);
    await stack.waitForRows(table, 10);
    breakIt();
    let acknowledged = 10;
    await waitFor('readiness names QuestDB', 60_000, async () => {
      expect(await push(100)).toBe(200);
      acknowledged += 100;
      const { questdb, questdb_tables: tables } = await missedByTransfer(stack);
      return questdb !== undefined || tables !== undefined;
    });
    await mend();
    await stack.waitForRows(table, acknowledged, 90_000);
    await waitFor('all is well', 60_000, async () => Object.keys(await missedByTransfer(stack)).length === 0);
  });

  it("ClickHouse's: exports are still accepted, readiness reports that nothing is stored, and once it is writable again all of it is, once", async () => {
    const { stack, breakIt, mend } = await stackOn('clickhouse');
    const probe = await spanProbe(stack);
    expect(await probe.send(10)).toEqual([200, '{}']);
    await waitFor('the first spans are stored', 60_000, async () => (await probe.stored()) === 10);
    breakIt();
    await waitFor('readiness names ClickHouse', 60_000, async () => {
      expect(await probe.send(100)).toEqual([200, '{}']);
      return (await missedByTransfer(stack))['clickhouse'] !== undefined;
    });
    await mend();
    await waitFor('every span is stored', 90_000, async () => (await probe.stored()) === probe.sent);
    await stack.waitForEmptyStream('TRACES');
    expect(await probe.stored()).toBe(probe.sent);
    await waitFor('all is well', 60_000, async () => Object.keys(await missedByTransfer(stack)).length === 0);
  });

  it("NATS's: a push that is not stored is answered 503, and once it is writable again everything acknowledged is stored", async () => {
    const { stack, breakIt, mend } = await stackOn('nats');
    const { table, push, stored } = await pushProbe(stack);
    expect(await push(10)).toBe(200);
    await stack.waitForRows(table, 10);
    breakIt();
    let acknowledged = 10;
    let unsure = 0;
    const count = async (points: number): Promise<number> => {
      const status = await push(points);
      if (status === 200) acknowledged += points;
      else unsure += points;
      return status;
    };
    await waitFor('a push is refused', 60_000, async () => (await count(100)) === 503);
    await mend();
    await waitFor('pushes are taken again', 60_000, async () => (await count(1)) === 200);
    await waitFor('what was acknowledged is stored', 60_000, async () => (await stored()) >= acknowledged);
    await stack.waitForEmptyStream('METRICS');
    expect(await stored()).toBeLessThanOrEqual(acknowledged + unsure);
    await waitFor('all is well', 60_000, async () => Object.keys(await missedByTransfer(stack)).length === 0);
  });
});
