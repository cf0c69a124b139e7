import { it } from 'vitest';
import { expectWholeUnderKills } from '../support/push/batch-kills.ts';
import { startEngines } from '../support/stack/engines.ts';

// A leader stages a batch in its memory; with the leader the batch is lost, or its followers have all of it.
it('200 batches at once while leaders are killed are each stored whole or not at all, as answered', async () => {
  const engines = await startEngines({ nats: true }, { hasNatsCluster: true });
  try {
    await expectWholeUnderKills(engines, { kills: 6, pauseMs: 1_500, replicas: 3 });
  } finally {
    await engines.stop();
  }
});
