import { beforeAll, describe, expect, it } from 'vitest';
import { endpointsOf } from '../../../src/metadata/api/server.ts';
import {
  apiOnNothing,
  depsOfNothing,
  documentOfCode,
  operationsOf,
  readCommitted,
  readDocument,
} from '../../../tools/docs/openapi.ts';
import { createReport, operations as creations, record } from '../../support/metadata/admin-api.ts';
import type { MetadataRole } from '../../support/metadata/role.ts';
import { expectSpecified, specifiedFields } from '../../support/metadata/spec-records.ts';
import { createSchemaCheck } from '../../support/openapi/answers.ts';
import { sharedStack } from './stack.ts';

/** Routes that the document leaves out, and why. */
const undocumented: Readonly<Record<string, string>> = {
  'GET /livez': 'probes read its status only',
  'GET /readyz': 'probes read its status only; operators know it from the operations port of every role',
  'GET /openapi.json': 'it is the document',
  'GET /api/v1/drops/live': 'its answer has no end; the summary of /api/v1/drops describes it',
  'GET /api/v1/live': 'its answer has no end; the summary of /api/v1/line describes it',
};

const documented = ({ method, path }: { method: string; path: string }): string => `${method} ${path}`;

/** Hono's routes as the document writes them; middleware of all methods is none. */
const routed = (): string[] =>
  apiOnNothing()
    .routes.filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);

describe('the OpenAPI document', () => {
  it('has every route and no other', async () => {
    const document = readDocument(await documentOfCode());
    const named = new Set(operationsOf(document).map(documented));
    const routes = new Set(routed());
    expect([...named].filter((route) => !routes.has(route))).toEqual([]);
    expect([...routes].filter((route) => !named.has(route) && !(route in undocumented))).toEqual([]);
    // One more: the endpoint of nodes, which have a token of their own.
    expect(named.size).toBe(endpointsOf(depsOfNothing()).length + 1);
  });

  it('names each operation once and describes it', async () => {
    const all = operationsOf(readDocument(await documentOfCode()));
    const ids = all.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { operationId, summary, description, tags } of all) {
      expect([summary, description, tags[0]].every(Boolean), operationId).toBe(true);
    }
  });

  it('describes what nodes poll, with their own token', async () => {
    const { paths } = record.parse(await documentOfCode());
    const { get } = record.parse(record.parse(paths)['/v1/subscriptions/{biz}']);
    expect(get).toMatchObject({
      security: [{ nodeToken: [] }],
      responses: { 200: { headers: { ETag: {} } }, 304: {}, 401: { description: 'No valid node token' } },
    });
  });

  it('has an example of each body, and every example is one that its schema allows', async () => {
    const document = readDocument(await documentOfCode());
    const check = createSchemaCheck(document);
    for (const operation of operationsOf(document)) {
      const answers = Object.values(operation.responses).map(({ content }) => content);
      for (const content of [operation.requestBody?.content ?? {}, ...answers]) {
        for (const [type, media] of Object.entries(content)) {
          expect(media.example, `${operation.operationId} ${type}`).toBeDefined();
          expect(check(media.schema, media.example), `${operation.operationId} ${type}`).toBeUndefined();
        }
      }
      for (const { name, schema } of operation.parameters) {
        const examples = Array.isArray(schema['examples']) ? schema['examples'] : [];
        for (const example of examples) expect(check(schema, example), name).toBeUndefined();
      }
    }
  });
});

describe('a running service', () => {
  let metadata: MetadataRole;

  beforeAll(async () => {
    ({ metadata } = await sharedStack());
  });

  it('serves the committed document without a token', async () => {
    const answer = await metadata.askAs(undefined, 'GET', '/openapi.json');
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.body).toEqual(readCommitted());
  });

  it('accepts the example of every body: a refusal concerns the state, not the value', async () => {
    for (const { method, path, requestBody, operationId } of operationsOf(readDocument(readCommitted()))) {
      const [media] = Object.values(requestBody?.content ?? {});
      if (media === undefined) continue;
      // The first admin token is this test's own.
      const target = path.replaceAll(/\{\w+\}/g, path.includes('/admin-tokens/') ? '2' : '1');
      const { status } = await metadata.ask(method, target, Object(media.example));
      // 503: what needs a store has none here.
      expect([200, 404, 409, 503], operationId).toContain(status);
    }
  });

  it('answers each field of specification 2.1 to 2.3 with its type, created, read and listed', async () => {
    const created = await createReport(metadata, { mon_biz_id: 21, name: 'specified' });
    const alone = await metadata.ask('POST', creations.dataSource, {
      data_name: '21_custom_time_series_alone',
    });
    expectSpecified('data_source', alone.body);
    const places = {
      data_source: `/api/v1/data-sources/${created.mon_data_id}`,
      time_series_group: `/api/v1/time-series-groups/${created.time_series_group_id}`,
      result_table: `/api/v1/result-tables/${created.result_table['table_id']}`,
    } as const;
    for (const name of ['data_source', 'time_series_group', 'result_table'] as const) {
      expectSpecified(name, created[name]);
      expectSpecified(name, (await metadata.ask('GET', places[name])).body);
      const list = await metadata.ask('GET', `${places[name].replace(/\/[^/]+$/, '')}?mon_biz_id=21`);
      const items = record.parse(list.body)['items'];
      expect(Array.isArray(items) && items.length).toBe(name === 'data_source' ? 2 : 1);
      for (const item of Array.isArray(items) ? items : []) expectSpecified(name, item);
    }
  });

  it('documents these fields with the types of the specification', async () => {
    const { schemas } = readDocument(readCommitted()).components;
    for (const [component, name] of [
      ['DataSource', 'data_source'],
      ['CreatedDataSource', 'data_source'],
      ['TimeSeriesGroup', 'time_series_group'],
      ['ResultTable', 'result_table'],
    ] as const) {
      const properties = record.parse(schemas[component]?.['properties']);
      const types = Object.entries(properties).map(([field, schema]) => [
        field,
        record.parse(schema)['type'],
      ]);
      const specified = specifiedFields(name).map(({ field, type }) => [
        field,
        type.startsWith('string or null') ? ['string', 'null'] : type.split(/[ ,]/)[0],
      ]);
      expect(types, component).toEqual(specified);
      expect(schemas[component]).toMatchObject({
        required: specified.map(([field]) => field),
        additionalProperties: false,
      });
    }
  });
});
