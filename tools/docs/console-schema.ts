import openapiTS, { astToString } from 'openapi-typescript';

/** The same value without the examples: the console has no use for them, and they are most of the document. */
const withoutExamples = (value: unknown, isNames = false): unknown => {
  if (Array.isArray(value)) return value.map((part) => withoutExamples(part));
  if (typeof value !== 'object' || value === null) return value;
  const parts = Object.entries(value).filter(
    ([name]) => isNames || (name !== 'example' && name !== 'examples'),
  );
  return Object.fromEntries(
    parts.map(([name, part]) => [name, withoutExamples(part, name === 'properties')]),
  );
};

/** The types of the admin API for the console's fetch, from the API's OpenAPI document. */
export const consoleSchema = async (document: unknown): Promise<string> => {
  const nodes = await openapiTS(JSON.stringify(withoutExamples(document)), { alphabetize: false });
  return `// Written by \`make docs\` from schemas/openapi/admin.json.\n${astToString(nodes)}`;
};
