import { describe, expect, it } from 'vitest';
import { createChecks } from '../../../src/runtime/checks.ts';
import { runRole } from '../../../src/runtime/run-role.ts';

const setup = () => {
  const stop = new AbortController();
  const stopped: string[] = [];
  const errors: unknown[] = [];
  const log = { info: () => {}, error: (fields: unknown) => errors.push(fields) };
  return { stop, stopped, errors, options: { name: 'role', log, stop: stop.signal } };
};

describe('a role that is stopped', () => {
  it('stops its parts one after the other, the last one first, each once', async () => {
    const { stop, stopped, options } = setup();
    const running = runRole(options, async (parts) => {
      for (const name of ['bus', 'publisher', 'listener'])
        parts.add(name, async () => {
          stopped.push(`${name} begins`);
          await new Promise((resolve) => setImmediate(resolve));
          stopped.push(`${name} ends`);
        });
    });
    stop.abort();
    await running;
    expect(stopped).toEqual([
      'listener begins',
      'listener ends',
      'publisher begins',
      'publisher ends',
      'bus begins',
      'bus ends',
    ]);
  });

  it('stops the parts of a group at the same time, at the place of the group', async () => {
    const { stop, stopped, options } = setup();
    const other = Promise.withResolvers<void>();
    const running = runRole(options, async (parts) => {
      parts.add('bus', () => stopped.push('bus'));
      const group = parts.together();
      parts.add('timer', () => stopped.push('timer'));
      // Each of the two waits for the other one to begin.
      group.add('points', () => other.promise.then(() => stopped.push('points')));
      group.add('spans', () => {
        stopped.push('spans');
        other.resolve();
      });
    });
    stop.abort();
    await running;
    expect(stopped).toEqual(['timer', 'spans', 'points', 'bus']);
  });

  it('stops the others when one throws, and throws that error at the end', async () => {
    const { stop, stopped, errors, options } = setup();
    const running = runRole(options, async (parts) => {
      parts.add('bus', () => stopped.push('bus'));
      parts.add('publisher', () => {
        throw new Error('at once');
      });
      parts.add('listener', () => Promise.reject(new Error('later')));
    });
    stop.abort();
    await expect(running).rejects.toThrow('later');
    expect(stopped).toEqual(['bus']);
    expect(errors).toEqual([
      { part: 'listener', error: 'later' },
      { part: 'publisher', error: 'at once' },
    ]);
  });

  it('ends within its time although a part never stops, and names that part', async () => {
    const { stop, stopped, errors, options } = setup();
    const running = runRole({ ...options, stopMsMax: 20 }, async (parts) => {
      parts.add('bus', () => stopped.push('bus'));
      parts.add('listener', () => new Promise(() => {}));
    });
    stop.abort();
    await expect(running).rejects.toThrow('listener did not stop in time');
    expect(stopped).toEqual(['bus']);
    expect(errors).toEqual([{ part: 'listener', error: 'listener did not stop in time' }]);
  });

  it('stops in order while it still waits for a dependency, and throws nothing', async () => {
    const { stop, stopped, errors, options } = setup();
    const running = runRole(options, async (parts, signal) => {
      parts.add('operations port', () => stopped.push('operations port'));
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    stop.abort();
    await running;
    expect({ stopped, errors }).toEqual({ stopped: ['operations port'], errors: [] });
  });
});

describe('a role whose start fails half-way', () => {
  it('stops the parts that had started, in reverse, each once, and throws the error of the start', async () => {
    const { stop, stopped, options } = setup();
    const running = runRole(options, async (parts) => {
      parts.add('operations port', () => stopped.push('operations port'));
      parts.add('bus', () => stopped.push('bus'));
      throw new Error('the port is taken');
    });
    await expect(running).rejects.toThrow('the port is taken');
    stop.abort();
    expect(stopped).toEqual(['bus', 'operations port']);
  });

  it('throws the error of the start also when a part does not stop', async () => {
    const { stopped, errors, options } = setup();
    const running = runRole({ ...options, failedMsMax: 20 }, async (parts) => {
      parts.add('operations port', () => stopped.push('operations port'));
      parts.add('bus', () => new Promise(() => {}));
      throw new Error('the port is taken');
    });
    await expect(running).rejects.toThrow('the port is taken');
    expect(stopped).toEqual(['operations port']);
    expect(errors).toEqual([{ part: 'bus', error: 'bus did not stop in time' }]);
  });
});

describe('a role of which a part broke for ever', () => {
  it('stops its parts in reverse, each once, and throws why the part broke', async () => {
    const { stop, stopped, options } = setup();
    let broke: ((error: unknown) => void) | undefined;
    const running = runRole(options, async (parts) => {
      parts.add('bus', () => stopped.push('bus'));
      parts.add('receiver', () => stopped.push('receiver'));
      broke = parts.broke;
    });
    broke?.(new Error('the connection is closed'));
    await expect(running).rejects.toThrow('the connection is closed');
    stop.abort();
    expect(stopped).toEqual(['receiver', 'bus']);
  });

  it('does not wait for a start that waits for the part', async () => {
    const { stopped, options } = setup();
    const running = runRole(options, async (parts) => {
      parts.add('bus', () => stopped.push('bus'));
      parts.together().broke(new Error('the connection is closed'));
      await new Promise(() => {});
    });
    await expect(running).rejects.toThrow('the connection is closed');
    expect(stopped).toEqual(['bus']);
  });
});

describe('the checks of a role', () => {
  it('answer under every name from the start, in this order, until their part brings its own', () => {
    const checks = createChecks({ nats: 'not connected yet', records: 'not read yet', questdb: undefined });
    const { all } = checks;
    const answers = () => Object.entries(all).map(([name, check]) => [name, check()]);
    expect(answers()).toEqual([
      ['nats', 'not connected yet'],
      ['records', 'not read yet'],
      ['questdb', undefined],
    ]);
    checks.set({ questdb: () => 'away', nats: () => undefined });
    expect(answers()).toEqual([
      ['nats', undefined],
      ['records', 'not read yet'],
      ['questdb', 'away'],
    ]);
  });
});

// By default Node ends, at once and without a drain: requests in hand would be cut.
it('a role goes on after SIGHUP, until it has stopped', async () => {
  const { stop, options } = setup();
  const lines: string[] = [];
  const log = { ...options.log, info: (_: unknown, message: string) => lines.push(message) };
  const before = process.listenerCount('SIGHUP');
  const ending = Promise.withResolvers<void>();
  const running = runRole({ ...options, log }, async (parts) => parts.add('drain', () => ending.promise));
  process.emit('SIGHUP');
  stop.abort();
  await new Promise((resolve) => setImmediate(resolve));
  const whileStopping = process.listenerCount('SIGHUP');
  ending.resolve();
  await running;
  expect(lines).toEqual([expect.stringContaining('SIGHUP'), 'role stops']);
  expect([whileStopping, process.listenerCount('SIGHUP')]).toEqual([before + 1, before]);
});
