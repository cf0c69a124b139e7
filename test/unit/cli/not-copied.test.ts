import { expect, it } from 'vitest';
import { notCopied } from '../../../src/cli/streams-backup/back-up.ts';
import { loadSettings } from '../../../src/config/settings.ts';

const settings = loadSettings({ TIDEMARK_QUESTDB_URLS: 'b=http://questdb-b:9000' });
const entriesOf = (...streams: string[]) => streams.map((stream) => ({ stream }));

it('a backup names each database that it lacks: of the settings, and of instances that only a stream names', () => {
  const entries = entriesOf('METRICS', 'METRICS-b', 'METRICS-old', 'OTEL_METRICS', 'KV_tidemark-system');
  expect(notCopied(settings, { entries, copied: ['nats', 'questdb', 'clickhouse'] })).toEqual([
    'questdb-b',
    'questdb-old',
  ]);
  expect(notCopied(settings, { entries, copied: ['nats'] })).toEqual([
    ...['questdb', 'questdb-b', 'questdb-old', 'clickhouse'],
  ]);
  // Its stream is not made yet.
  expect(notCopied(settings, { entries: entriesOf('METRICS'), copied: ['nats', 'questdb'] })).toEqual([
    ...['questdb-b', 'clickhouse'],
  ]);
  const copied = ['nats', 'questdb', 'questdb-b', 'clickhouse'];
  expect(notCopied(settings, { entries: entriesOf('METRICS', 'METRICS-b'), copied })).toEqual([]);
});
