import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { ApiDeps } from '../../src/metadata/api/deps.ts';
import { createApi } from '../../src/metadata/api/server.ts';
import { createPollingApp } from '../../src/metadata/refresh/polling-endpoint.ts';
import type { Subscriptions } from '../../src/metadata/refresh/subscriptions.ts';

/** A JSON Schema, or any other JSON object. */
export type Json = Readonly<Record<string, unknown>>;

const json = z.record(z.string(), z.unknown());
const media = z.looseObject({ schema: json, example: z.unknown() });
const content = z.record(z.string(), media);

const parameter = z.looseObject({
  name: z.string(),
  in: z.enum(['path', 'query', 'header']),
  required: z.boolean(),
  schema: json,
});

const header = z.looseObject({ description: z.string(), required: z.boolean(), schema: json });

const response = z.looseObject({
  description: z.string(),
  headers: z.record(z.string(), header).default({}),
  content: content.default({}),
});

const operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  parameters: z.array(parameter).default([]),
  requestBody: z.looseObject({ required: z.boolean(), content }).optional(),
  responses: z.record(z.string(), z.union([z.strictObject({ $ref: z.string() }), response])),
});

const methodNames = ['get', 'post', 'put', 'patch', 'delete'] as const;

const documentSchema = z.looseObject({
  openapi: z.literal('3.1.0'),
  info: json,
  components: z.looseObject({
    schemas: z.record(z.string(), json),
    responses: z.record(z.string(), response),
  }),
  paths: z.record(z.string(), z.partialRecord(z.enum(methodNames), operation)),
});

export type Parameter = z.output<typeof parameter>;
export type Media = z.output<typeof media>;

/** One operation of the document, with where it is, and its answers in full. */
export type Operation = Omit<z.output<typeof operation>, 'responses'> & {
  readonly method: string;
  readonly path: string;
  readonly responses: Readonly<Record<string, z.output<typeof response>>>;
};

/** The parts of an OpenAPI document that tests look at. */
export type Document = z.output<typeof documentSchema>;

/** The committed copy. */
export const documentFile = new URL('../../schemas/openapi/admin.json', import.meta.url);

/** Throws unless the value is a document of the form that this API makes. */
export const readDocument = (value: unknown): Document => documentSchema.parse(value);

/** The document as the committed file has it. */
export const readCommitted = (): unknown => JSON.parse(readFileSync(documentFile, 'utf8'));

/** Empty dependencies: routes and document of the API do not use them. */
export const depsOfNothing = (): ApiDeps =>
  z
    .custom<ApiDeps>(() => true)
    .parse({
      onAnswer: () => undefined,
      explore: { role: 'viewer' },
      refresh: {
        pollingApp: createPollingApp(z.custom<Subscriptions>(() => true).parse({}), () => undefined, {
          prefix: 'bk',
          now: () => 0,
        }),
      },
    });

/** The API on nothing. */
export const apiOnNothing = (): ReturnType<typeof createApi> => createApi(depsOfNothing());

/** The document that the code makes, as the API serves it. */
export const documentOfCode = async (): Promise<unknown> =>
  (await apiOnNothing().request('/openapi.json')).json();

const referred = (document: Document, { $ref }: { $ref: string }): z.output<typeof response> =>
  response.parse(document.components.responses[$ref.replace('#/components/responses/', '')]);

/** All operations, in the document's order. */
export const operationsOf = (document: Document): Operation[] =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    methodNames.flatMap((name) => {
      const found = item[name];
      if (found === undefined) return [];
      const responses = Object.entries(found.responses).map(
        ([status, answer]) =>
          [
            status,
            '$ref' in answer
              ? referred(document, z.object({ $ref: z.string() }).parse(answer))
              : response.parse(answer),
          ] as const,
      );
      return [{ ...found, responses: Object.fromEntries(responses), method: name.toUpperCase(), path }];
    }),
  );
