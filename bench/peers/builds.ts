import { join } from 'node:path';
import { z } from 'zod';
import { built, nicely } from '../../test/support/clients/builds.ts';

/** Pinned: the figures are of these. */
export const peerVersions = { collector: '0.161.0', telegraf: '1.37.2' } as const;

const telegrafModule = 'github.com/influxdata/telegraf';
const telegrafTags = [
  'custom',
  'inputs.http_listener_v2',
  'parsers.json',
  'outputs.influxdb',
  'outputs.discard',
  // Of the set-up snippet, which the tests of clients run.
  'inputs.file',
  'parsers.influx',
  'outputs.http',
  'serializers.json',
];

/** Builds the OpenTelemetry Collector with the parts that collector.yaml names, by its own builder. Returns the program's path. */
export const buildCollector = async (): Promise<string> => {
  const folder = await built({
    name: `collector-${peerVersions.collector}`,
    folder: import.meta.dirname,
    sources: ['collector.yaml'],
    make: async (from, to) => {
      await nicely(
        from,
        'go',
        ['install', `go.opentelemetry.io/collector/cmd/builder@v${peerVersions.collector}`],
        { GOBIN: from },
      );
      await nicely(from, join(from, 'builder'), ['--config', 'collector.yaml']);
      await nicely(from, 'mv', [join(from, 'out', 'collector'), to]);
    },
  });
  return join(folder, 'collector');
};

const download = z.object({ Dir: z.string() });

/** Builds Telegraf with the plugins that the comparison and the set-up snippet need. Returns the program's path. */
export const buildTelegraf = async (): Promise<string> => {
  const folder = await built({
    name: `telegraf-${peerVersions.telegraf}`,
    sources: [],
    key: telegrafTags.join(','),
    make: async (_, to) => {
      const module = `${telegrafModule}@v${peerVersions.telegraf}`;
      const fetched: unknown = JSON.parse(await nicely(to, 'go', ['mod', 'download', '-json', module]));
      const { Dir: sources } = download.parse(fetched);
      const args = ['build', '-trimpath', '-tags', telegrafTags.join(','), '-o', join(to, 'telegraf')];
      await nicely(sources, 'go', [...args, './cmd/telegraf']);
    },
  });
  return join(folder, 'telegraf');
};
