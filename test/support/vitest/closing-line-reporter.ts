import type { Reporter, TestModule } from 'vitest/node';

/** Ends a run with the one line `N passed, N failed, N skipped`; a file that could not run counts as a failure. */
export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'pending') counts.skipped += 1;
        else counts[state] += 1;
      }
      counts.failed += module.errors().length;
    }
    // The default reporter prints its summary in the same hook, after its own awaits.
    process.once('exit', () => {
      process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
    });
  }
}
