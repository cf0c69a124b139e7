import { expectObject, itemsOf } from './json.ts';
import { idField, Notes, textField, timeField, wholeNumber } from './json-fields.ts';
import { type Json, readJson } from './json-text.ts';
import { anyField, attributesField } from './json-value.ts';
import {
  emptyLogResource,
  emptyLogScope,
  emptyRecord,
  type PlainLogResource,
  type PlainLogScope,
  type PlainLogs,
  type PlainRecord,
} from './log-model.ts';
import { NotReadable, type PlainFault, type Text } from './model.ts';

const names = [
  'timeUnixNano',
  'observedTimeUnixNano',
  'severityNumber',
  'severityText',
  'body',
  'attributes',
  'flags',
  'traceId',
  'spanId',
  'eventName',
] as const;

const severities = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'].flatMap((name) =>
  ['', '2', '3', '4'].map((more) => name + more),
);

const invalid = (field: string): PlainFault => ({ reason: 'record_field_invalid', field });

/** By number or by name, with or without its prefix; a name that OTLP does not have is 0. */
const severityField = (value: Json, notes: Notes, faults: PlainFault[]): number => {
  if (value.type === 'null') return 0;
  if (value.type === 'string') {
    notes.forgive('enum_name');
    const name = value.text.toUpperCase().replace(/^(SPAN_KIND|STATUS_CODE|SEVERITY_NUMBER)_/, '');
    const number = ['UNSPECIFIED', ...severities].indexOf(name);
    if (number >= 0) return number;
    if (/^(0|-?[1-9]\d{0,15})$/.test(value.text)) return Number(value.text);
    notes.forgive('enum_unknown');
    return 0;
  }
  const digits = value.type === 'number' ? wholeNumber(value.source) : undefined;
  if (digits === undefined) faults.push(invalid('severityNumber'));
  return Number(digits ?? 0);
};

const flagsField = (value: Json, faults: PlainFault[]): number => {
  if (value.type === 'null') return 0;
  let digits: string | undefined;
  if (value.type === 'string') digits = value.text;
  else if (value.type === 'number') digits = wholeNumber(value.source);
  if (digits !== undefined && /^\d{1,10}$/.test(digits) && Number(digits) < 2 ** 32) return Number(digits);
  faults.push(invalid('flags'));
  return 0;
};

const readRecord = (json: Json, notes: Notes): PlainRecord => {
  const record = emptyRecord();
  const { faults } = record;
  if (json.type !== 'object') {
    faults.push({ reason: 'record_not_object', field: '' });
    return record;
  }
  const text = (value: Json, field: string): Text => {
    const wrong: PlainFault[] = [];
    const read = textField(value, wrong, field);
    faults.push(...wrong.map(() => invalid(field)));
    return read;
  };
  for (const [name, value] of notes.members(json, names)) {
    if (name === 'timeUnixNano') record.time = timeField(value, notes);
    else if (name === 'observedTimeUnixNano') record.observed = timeField(value, notes);
    else if (name === 'severityNumber') record.severityNumber = severityField(value, notes, faults);
    else if (name === 'flags') record.flags = flagsField(value, faults);
    else if (name === 'traceId') record.traceId = idField(value, 16);
    else if (name === 'spanId') record.spanId = idField(value, 8);
    else if (name === 'attributes') record.attributes = attributesField(value, notes, faults, name);
    else if (name === 'body') {
      const read = anyField(value, notes);
      record.body = read.value;
      if (!read.isValid) faults.push(invalid(name));
    } else record[name] = text(value, name);
  }
  return record;
};

/** A text above the records, where another kind makes the body unreadable. */
const outerText = (value: Json, name: string): Text => {
  if (value.type !== 'string' && value.type !== 'null') throw new NotReadable(name);
  return textField(value, [], name);
};

const readScopeLogs = (json: Json, notes: Notes): PlainLogScope => {
  expectObject(json, 'scopeLogs');
  const result = emptyLogScope();
  for (const [member, value] of notes.members(json, ['scope', 'logRecords', 'schemaUrl'])) {
    if (member === 'logRecords')
      result.records = itemsOf(value, member).map((record) => readRecord(record, notes));
    else if (member === 'schemaUrl') result.schema = outerText(value, member);
    else {
      if (value.type !== 'null') expectObject(value, member);
      for (const [name, inner] of notes.members(value, ['name', 'version', 'attributes'])) {
        if (name === 'attributes')
          result.attributes = attributesField(inner, notes, result.faults, 'scope.attributes');
        else result[name] = outerText(inner, name);
      }
    }
  }
  return result;
};

const readResourceLogs = (json: Json, notes: Notes): PlainLogResource => {
  expectObject(json, 'resourceLogs');
  const result = emptyLogResource();
  for (const [member, value] of notes.members(json, ['resource', 'scopeLogs', 'schemaUrl'])) {
    if (member === 'scopeLogs')
      result.scopes = itemsOf(value, member).map((scope) => readScopeLogs(scope, notes));
    else if (member === 'schemaUrl') result.schema = outerText(value, member);
    else {
      if (value.type !== 'null') expectObject(value, member);
      for (const [, attributes] of notes.members(value, ['attributes']))
        result.attributes = attributesField(attributes, notes, result.faults, 'resource.attributes');
    }
  }
  return result;
};

/** The JSON form of ExportLogsServiceRequest as plain objects, read leniently. Throws NotReadable. */
export const logsOfJson = (bytes: Uint8Array): PlainLogs => {
  const notes = new Notes();
  const body = readJson(Buffer.from(bytes).toString('utf8'));
  if (body.type !== 'object') throw new NotReadable('no object');
  const resources: PlainLogResource[] = [];
  for (const [name, value] of notes.members(body, ['resourceLogs']))
    resources.push(...itemsOf(value, name).map((item) => readResourceLogs(item, notes)));
  return { resources, leniencies: notes.leniencies, hasRepeats: notes.hasRepeats };
};
