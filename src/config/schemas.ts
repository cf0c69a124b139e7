import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ErrorObject } from 'ajv';
import { errorText, Fault } from '../model/fault.ts';
import { settingFault } from './settings.ts';
import type { YamlFile } from './yaml-file.ts';

/** Compiles every schema under the folder, so that a broken one stops the start. Unknown keywords are errors. */
export const compileSchemas = (folder: string): Ajv => {
  const ajv = new Ajv({ strict: true, allErrors: false, verbose: true });
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.schema.json'))) {
    try {
      const schema: unknown = JSON.parse(readFileSync(join(folder, name), 'utf8'));
      if (typeof schema !== 'object' || schema === null) throw new Error('the schema is not an object');
      ajv.addSchema(schema, name);
      ajv.getSchema(name);
    } catch (error) {
      throw settingFault(
        join(folder, name),
        `the schema cannot be used (${errorText(error)})`,
        'Restore the file',
      );
    }
  }
  return ajv;
};

/** What stands in the way. Of alternatives none of which fits, the schema's own words name them all. */
const complaintOf = (errors: readonly ErrorObject[]): { error: ErrorObject; reason: string } | undefined => {
  const [error] = errors;
  const last = errors.at(-1);
  if (error === undefined || last === undefined) return undefined;
  const schema: unknown = last.parentSchema;
  const wanted: unknown =
    typeof schema === 'object' && schema !== null ? Reflect.get(schema, 'description') : undefined;
  return last.keyword === 'anyOf' && typeof wanted === 'string'
    ? { error: last, reason: `must be ${wanted}` }
    : { error, reason: error.message ?? 'is not valid' };
};

const remedyFor = (error: ErrorObject): string => {
  const params: Record<string, unknown> = error.params;
  switch (error.keyword) {
    case 'additionalProperties':
      return `Remove or correct the key ${String(params.additionalProperty)}`;
    case 'required':
      return `Add the key ${String(params.missingProperty)}`;
    case 'enum':
      return `Use one of ${JSON.stringify(params.allowedValues)}`;
    case 'const':
      return `Write ${JSON.stringify(params.allowedValue)}`;
    default:
      return 'Correct the value';
  }
};

/** The file's content when it is as the schema says. Throws a permanent Fault `config_invalid` that names place, reason and remedy. */
export const checkFile = <T>(ajv: Ajv, schemaName: string, file: YamlFile): T => {
  const validate = ajv.getSchema(schemaName);
  if (validate === undefined)
    throw new Fault('permanent', 'config_invalid', `the schema ${schemaName} is missing`);
  const isValid = (value: unknown): value is T => validate(value) === true;
  if (isValid(file.value)) return file.value;
  const complaint = complaintOf(validate.errors ?? []);
  if (complaint === undefined) throw settingFault(file.file, 'is not valid', 'Correct it');
  const { error, reason } = complaint;
  const path = error.instancePath.split('/').slice(1);
  const extra =
    error.keyword === 'additionalProperties' ? String(error.params.additionalProperty) : undefined;
  const place = file.placeOf(extra === undefined ? path : [...path, extra]);
  throw settingFault(`${place} ${error.instancePath || '/'}`, reason, remedyFor(error));
};
