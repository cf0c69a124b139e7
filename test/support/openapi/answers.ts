import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Document, Json, Operation } from '../../../tools/docs/openapi.ts';
import type { RawAnswer } from './client.ts';

const textOf = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header.join() : header;

const parsed = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

/** The errors of a value against a schema of the document; undefined without any. */
export const createSchemaCheck = (document: Document) => {
  const ajv = new Ajv2020({ allowUnionTypes: true, keywords: ['components', 'example'] });
  const compiled = new Map<Json, ValidateFunction>();
  // Under an id of its own each named schema is compiled once, and not once for each schema that has it.
  ajv.addSchema({ $id: 'document', components: { schemas: document.components.schemas } });
  return (schema: Json, value: unknown): string | undefined => {
    const ofDocument = (): Json => JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/'));
    const validate = compiled.get(schema) ?? ajv.compile(ofDocument());
    compiled.set(schema, validate);
    return validate(value) ? undefined : ajv.errorsText(validate.errors);
  };
};

export type SchemaCheck = ReturnType<typeof createSchemaCheck>;

/** What an answer has against what its operation promises: status, type, headers and body. */
export const breachesOf = (operation: Operation, answer: RawAnswer, check: SchemaCheck): string[] => {
  const promised = operation.responses[String(answer.status)];
  if (answer.status >= 500) return [`${answer.status}: ${answer.text.slice(0, 300)}`];
  if (promised === undefined) return [`${answer.status} is not documented: ${answer.text.slice(0, 300)}`];
  const breaches: string[] = [];
  for (const [name, { required }] of Object.entries(promised.headers)) {
    if (required && textOf(answer.headers[name.toLowerCase()]) === undefined)
      breaches.push(`${answer.status} without ${name}`);
  }
  for (const name of ['ETag', 'Retry-After', 'WWW-Authenticate', 'Allow', 'Location']) {
    const isThere = answer.headers[name.toLowerCase()] !== undefined;
    if (isThere && promised.headers[name] === undefined)
      breaches.push(`${name} of a ${answer.status} is not documented`);
  }
  if (answer.status === 304) return answer.text === '' ? breaches : [...breaches, '304 with a body'];
  const type = textOf(answer.headers['content-type']) ?? '';
  const media = promised.content[type];
  if (media === undefined) return [...breaches, `${answer.status} of type ${JSON.stringify(type)}`];
  const body = parsed(answer.text);
  if (body === undefined) return [...breaches, `${answer.status} whose body is not valid JSON`];
  const wrong = check(media.schema, body.value);
  return wrong === undefined ? breaches : [...breaches, `${answer.status}: ${wrong}`];
};
