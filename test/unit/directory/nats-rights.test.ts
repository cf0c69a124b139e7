import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { natsUserNames } from '../../../src/bus/nats-users.ts';
import { withInstances } from '../../../src/config/instance-streams.ts';
import { loadPipelines } from '../../../src/config/pipelines.ts';
import { natsRights } from '../../../src/directory/nats-rights.ts';
import { natsUsersConf, natsUsersValues } from '../../../src/directory/nats-user-files.ts';

const shipped = loadPipelines(join(resolve(import.meta.dirname, '../../..'), 'pipelines'));
const pipelines = withInstances(shipped, ['default', 'b']);
const rights = natsRights(pipelines);

/** As nats-server compares a subject with a permission. */
const matches = (permission: string, subject: string): boolean => {
  const [wanted, tokens] = [permission.split('.'), subject.split('.')];
  const rest = wanted.indexOf('>');
  if (rest === -1 ? wanted.length !== tokens.length : tokens.length <= rest) return false;
  return wanted
    .slice(0, rest === -1 ? undefined : rest)
    .every((each, index) => each === '*' || each === tokens[index]);
};

const publishersOf = (subject: string): string[] =>
  natsUserNames.filter((name) => rights[name].publish.some((each) => matches(each, subject)));

const subscribersOf = (subject: string): string[] =>
  natsUserNames.filter((name) => rights[name].subscribe.some((each) => matches(each, subject)));

// What a stolen password opens.
describe('the rights at NATS', () => {
  it.each([
    ['received points', 'metrics.0', ['ingress', 'metadata']],
    ['received points of a further instance', 'metrics-b.0', ['ingress', 'metadata']],
    ['points of an instance that there is not', 'metrics-c.0', []],
    ['received spans', 'traces.3', ['ingress', 'metadata']],
    ['received log records', 'logs.3', ['ingress', 'metadata']],
    // Metadata where a line is redriven.
    ['what was settled', 'ledger.settled', ['transfer', 'metadata']],
    ['samples', 'ledger.samples', ['ingress', 'transfer', 'metadata']],
    ['dead letters', 'deadletter.metrics', ['transfer']],
    ['the audit log', 'audit.report.1.x', ['metadata']],
    ['records', '$KV.tidemark-records.data_source.1500001', ['metadata']],
    ['column names', '$KV.tidemark-columns.columns.1500001', ['ingress', 'metadata', 'operator']],
    ['admin tokens', '$KV.tidemark-system.admin_tokens', ['metadata', 'operator']],
    ['sessions', '$KV.tidemark-sessions.x', ['metadata']],
    ['a pulse', 'pulse.transfer.0123456789abcdef', ['transfer']],
  ])('let only those who make them publish %s', (_, subject, who) => {
    expect(publishersOf(subject)).toEqual(who);
  });

  it.each([
    ['takes points', '$JS.API.CONSUMER.MSG.NEXT.METRICS.questdb', ['transfer']],
    ['takes points of a further instance', '$JS.API.CONSUMER.MSG.NEXT.METRICS-b.questdb-b', ['transfer']],
    ['acknowledges spans', '$JS.ACK.TRACES.clickhouse.1.2.3.4.5', ['transfer']],
    ['reads messages where they wait', '$JS.API.DIRECT.GET.METRICS', ['transfer', 'metadata', 'operator']],
    ['reads the audit log', '$JS.API.DIRECT.GET.AUDIT', ['metadata', 'operator']],
    ['purges METRICS', '$JS.API.STREAM.PURGE.METRICS', ['transfer']],
    ['purges the records', '$JS.API.STREAM.PURGE.KV_tidemark-records', []],
    ['deletes a stream', '$JS.API.STREAM.DELETE.METRICS', []],
    ['deletes a consumer', '$JS.API.CONSUMER.DELETE.METRICS.questdb', ['metadata']],
    ['makes a stream', '$JS.API.STREAM.CREATE.METRICS', ['metadata']],
    ['changes the bucket of demands', '$JS.API.STREAM.UPDATE.KV_tidemark-rates', ['metadata']],
    ['changes the bucket of sessions', '$JS.API.STREAM.UPDATE.KV_tidemark-sessions', ['metadata']],
    ['begins a queue again', '$JS.API.CONSUMER.RESET.METRICS.questdb', ['operator']],
    ['begins another queue again', '$JS.API.CONSUMER.RESET.METRICS.other', []],
    ['changes a stream', '$JS.API.STREAM.UPDATE.METRICS', ['metadata', 'operator']],
    ['makes another stream', '$JS.API.STREAM.CREATE.COPY', []],
    ['makes another consumer', '$JS.API.CONSUMER.CREATE.METRICS.other', []],
    ['makes an unnamed consumer', '$JS.API.CONSUMER.CREATE.KV_tidemark-records', []],
    ['watches every record by a filter of its own', '$JS.API.CONSUMER.CREATE.KV_tidemark-records.x', []],
    ['copies streams', '$JS.API.STREAM.SNAPSHOT.METRICS', ['operator']],
    ['restores streams', '$JS.API.STREAM.RESTORE.METRICS', ['operator']],
    ['removes a dead letter', '$JS.API.STREAM.MSG.DELETE.DEADLETTER', ['metadata']],
  ])('let only those whose work it is be one who %s', (_, subject, who) => {
    expect(publishersOf(subject)).toEqual(who);
  });

  // The server checks nothing in the body of such a request: with `sources` it reads other streams, with `republish` it writes them.
  it('let nobody but metadata and operator make or change a stream, and those only the ones that they name', () => {
    const changes = (name: (typeof natsUserNames)[number]): string[] =>
      rights[name].publish
        .filter((each) => /^\$JS\.API\.STREAM\.(?:CREATE|UPDATE|DELETE|RESTORE)\./.test(each))
        .map((each) => each.slice('$JS.API.STREAM.'.length));
    expect([changes('ingress'), changes('transfer')]).toEqual([[], []]);
    const streams = pipelines.streams.map(({ name }) => name);
    const kept = ['KV_tidemark-records', 'KV_tidemark-columns', 'KV_tidemark-system'];
    const made = [...streams, ...kept, 'KV_tidemark-sessions', 'KV_tidemark-rates'];
    expect(changes('metadata').sort()).toEqual(
      made.flatMap((name) => [`CREATE.${name}`, `UPDATE.${name}`]).sort(),
    );
    expect(changes('operator').sort()).toEqual(
      [
        'RESTORE.*',
        ...kept.flatMap((name) => [`CREATE.${name}`, `UPDATE.${name}`]),
        ...streams.map((name) => `UPDATE.${name}`),
      ].sort(),
    );
  });

  const watched = (bucket: string, key: string): string =>
    `$JS.API.CONSUMER.CREATE.KV_${bucket}.w.$KV.${bucket}.${key}`;
  const read = (bucket: string, key: string): string =>
    `$JS.API.DIRECT.GET.KV_${bucket}.$KV.${bucket}.${key}`;

  it('show write tokens to those who check or administer them, and admin tokens and sessions to metadata', () => {
    const all = ['ingress', 'metadata', 'operator'];
    for (const subject of [read, watched].map((of) => of('tidemark-records', 'data_source.1500001')))
      expect(publishersOf(subject)).toEqual(all);
    for (const subject of [read, watched].map((of) => of('tidemark-system', 'admin_tokens')))
      expect(publishersOf(subject)).toEqual(['metadata', 'operator']);
    for (const subject of [read, watched].map((of) => of('tidemark-sessions', 'x')))
      expect(publishersOf(subject)).toEqual(['metadata']);
    expect(publishersOf(watched('tidemark-records', 'purge.1500001'))).toContain('transfer');
  });

  it('give each role a place for answers that no other one reads', () => {
    for (const role of ['ingress', 'transfer', 'metadata'])
      expect(subscribersOf(`_INBOX_${role}.x.1`)).toEqual([role]);
    expect(subscribersOf('_INBOX.x')).toEqual(['operator']);
    for (const subject of [
      'metrics.0',
      'traces.0',
      '$JS.API.INFO',
      '$KV.tidemark-records.data_source.1',
      'audit.a.b.c',
    ])
      expect(subscribersOf(subject), subject).toEqual([]);
  });

  it('have no wildcard that stands for everything', () => {
    for (const { publish, subscribe } of Object.values(rights))
      for (const each of [...publish, ...subscribe]) expect(each).not.toMatch(/^(>|\*|\$JS\.API\.>|\$KV\.>)/);
  });
});

it('the values of the Helm chart have the users of the configuration file', () => {
  const schema = z.object({
    container: z.object({ env: z.record(z.string(), z.looseObject({})) }),
    config: z.object({
      merge: z.object({
        authorization: z.object({
          users: z.array(
            z.object({
              user: z.string(),
              password: z.string(),
              permissions: z.object({ publish: z.array(z.string()), subscribe: z.array(z.string()) }),
            }),
          ),
        }),
      }),
    }),
  });
  const { container, config } = schema.parse(parse(natsUsersValues(pipelines)));
  const { users } = config.merge.authorization;
  expect(users.map(({ user, permissions }) => [user, permissions])).toEqual(Object.entries(rights));
  const conf = natsUsersConf(pipelines);
  for (const { user, password } of users) {
    const variable = /^<< \$(\w+) >>$/.exec(password)?.[1] ?? 'none';
    expect(Object.keys(container.env)).toContain(variable);
    expect(conf).toContain(`{ user: "${user}", password: $${variable}, permissions: {`);
  }
});
