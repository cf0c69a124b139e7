// A process that is in the middle of an audited call and stays there: node test/support/metadata/audit-process.ts <nats url> <orphan ms>
import { connectBus } from '../../../src/bus/connection.ts';
import { openKvBucket } from '../../../src/bus/kv.ts';
import { buckets } from '../../../src/directory/keys.ts';
import { openAudit } from '../../../src/metadata/audit/audit.ts';
import { createLog } from '../../../src/telemetry/log.ts';

const [url = '', orphanMs = ''] = process.argv.slice(2);
const bus = await connectBus(url, 'audit-process');
const system = await openKvBucket(bus, buckets.system);
const audit = openAudit(bus, system, createLog('test', 'silent'), Number(orphanMs));
audit.start();
await audit.run(
  {
    actor: { token_id: 1, name: 'first', role: 'admin' },
    operator: 'someone',
    action: 'test.stay',
    target: { kind: 'thing', id: 'of-killed' },
    request: { name: 'demo', token: 'ab01'.repeat(8) },
  },
  async (note) => {
    await system.put('thing_done', true);
    note({ before: null, after: { done: true } });
    process.stdout.write('working\n');
    await new Promise(() => setInterval(() => undefined, 60_000));
  },
);
