import { isUtf8 } from 'node:buffer';
import { enumField, idField, Notes, textField, timeField } from './json-fields.ts';
import { type Json, readJson } from './json-text.ts';
import { attributesField } from './json-value.ts';
import {
  emptySpan,
  forgive,
  NotReadable,
  noText,
  type PlainEvent,
  type PlainFault,
  type PlainLink,
  type PlainRequest,
  type PlainResource,
  type PlainScope,
  type PlainSpan,
  spanKinds,
  statusCodes,
} from './model.ts';

const spanNames = [
  'traceId',
  'spanId',
  'traceState',
  'parentSpanId',
  'name',
  'kind',
  'startTimeUnixNano',
  'endTimeUnixNano',
  'attributes',
  'events',
  'links',
  'status',
] as const;

/** The objects of an array that belongs to a span; what is none is a fault of the span. */
const objectsOf = (json: Json, faults: PlainFault[], field: string): Json[] => {
  if (json.type === 'null') return [];
  if (json.type !== 'array') {
    faults.push({ reason: 'span_field_invalid', field });
    return [];
  }
  return json.items.filter((item) => {
    if (item.type !== 'object') faults.push({ reason: 'span_field_invalid', field: `${field}[]` });
    return item.type === 'object';
  });
};

const readEvent = (json: Json, notes: Notes, faults: PlainFault[]): PlainEvent => {
  const event: PlainEvent = { time: undefined, name: noText, attributes: [] };
  for (const [name, value] of notes.members(json, ['timeUnixNano', 'name', 'attributes'])) {
    if (name === 'timeUnixNano') event.time = timeField(value, notes);
    else if (name === 'name') event.name = textField(value, faults, 'events[].name');
    else event.attributes = attributesField(value, notes, faults, 'events[].attributes');
  }
  return event;
};

const readLink = (json: Json, notes: Notes, faults: PlainFault[]): PlainLink => {
  const link: PlainLink = { traceId: 'absent', spanId: 'absent', traceState: noText, attributes: [] };
  for (const [name, value] of notes.members(json, ['traceId', 'spanId', 'traceState', 'attributes'])) {
    if (name === 'traceId') link.traceId = idField(value, 16);
    else if (name === 'spanId') link.spanId = idField(value, 8);
    else if (name === 'traceState') link.traceState = textField(value, faults, 'links[].traceState');
    else link.attributes = attributesField(value, notes, faults, 'links[].attributes');
  }
  return link;
};

const readStatus = (json: Json, notes: Notes, span: PlainSpan): void => {
  if (json.type !== 'object') {
    if (json.type !== 'null') span.faults.push({ reason: 'span_field_invalid', field: 'status' });
    return;
  }
  for (const [name, value] of notes.members(json, ['code', 'message'])) {
    if (name === 'code') span.statusCode = enumField(value, statusCodes, notes, span.faults, 'status.code');
    else span.statusMessage = textField(value, span.faults, 'status.message');
  }
};

const readSpan = (json: Json, notes: Notes): PlainSpan => {
  const span = emptySpan();
  const { faults } = span;
  if (json.type !== 'object') {
    faults.push({ reason: 'span_not_object', field: '' });
    return span;
  }
  for (const [name, value] of notes.members(json, spanNames)) {
    if (name === 'traceId') span.traceId = idField(value, 16);
    else if (name === 'spanId') span.spanId = idField(value, 8);
    else if (name === 'parentSpanId') span.parentSpanId = idField(value, 8);
    else if (name === 'traceState') span.traceState = textField(value, faults, name);
    else if (name === 'name') span.name = textField(value, faults, name);
    else if (name === 'kind') span.kind = enumField(value, spanKinds, notes, faults, name);
    else if (name === 'startTimeUnixNano') span.start = timeField(value, notes);
    else if (name === 'endTimeUnixNano') span.end = timeField(value, notes);
    else if (name === 'attributes') span.attributes = attributesField(value, notes, faults, name);
    else if (name === 'events')
      span.events = objectsOf(value, faults, name).map((event) => readEvent(event, notes, faults));
    else if (name === 'links')
      span.links = objectsOf(value, faults, name).map((link) => readLink(link, notes, faults));
    else readStatus(value, notes, span);
  }
  if (span.parentSpanId === 'zero') notes.forgive('zero_parent_span_id');
  return span;
};

/** The items of an array above the spans, where what is not OTLP makes the body unreadable; null is none. */
export const itemsOf = (json: Json, name: string): readonly Json[] => {
  if (json.type === 'null') return [];
  if (json.type !== 'array') throw new NotReadable(name);
  return json.items;
};

/** An object above the spans, or undefined for null where that is allowed. */
export const expectObject = (json: Json, name: string): void => {
  if (json.type !== 'object') throw new NotReadable(name);
};

const readScopeSpans = (json: Json, notes: Notes): PlainScope => {
  expectObject(json, 'scopeSpans');
  const result: PlainScope = { name: noText, version: noText, spans: [] };
  for (const [member, value] of notes.members(json, ['scope', 'spans'])) {
    if (member === 'spans') {
      result.spans = itemsOf(value, member).map((span) => readSpan(span, notes));
      continue;
    }
    if (value.type !== 'null') expectObject(value, member);
    for (const [name, text] of notes.members(value, ['name', 'version'])) {
      if (text.type !== 'string' && text.type !== 'null') throw new NotReadable(name);
      result[name] = textField(text, [], name);
    }
  }
  return result;
};

const readResourceSpans = (json: Json, notes: Notes): PlainResource => {
  expectObject(json, 'resourceSpans');
  const result: PlainResource = { faults: [], attributes: [], scopes: [] };
  for (const [member, value] of notes.members(json, ['resource', 'scopeSpans'])) {
    if (member === 'scopeSpans') {
      result.scopes = itemsOf(value, member).map((scope) => readScopeSpans(scope, notes));
      continue;
    }
    if (value.type !== 'null') expectObject(value, member);
    for (const [, attributes] of notes.members(value, ['attributes']))
      result.attributes = attributesField(attributes, notes, result.faults, 'resource.attributes');
  }
  return result;
};

/** The JSON form of ExportTraceServiceRequest as plain objects, read leniently (architecture 4.6). Throws NotReadable. */
export const requestOfJson = (bytes: Uint8Array): PlainRequest => {
  const notes = new Notes();
  const body = readJson(Buffer.from(bytes).toString('utf8'));
  if (body.type !== 'object') throw new NotReadable('no object');
  const resources: PlainResource[] = [];
  for (const [name, value] of notes.members(body, ['resourceSpans']))
    resources.push(...itemsOf(value, name).map((item) => readResourceSpans(item, notes)));
  if (notes.hasRepeats) forgive(notes.leniencies, 'duplicate_key');
  if (!isUtf8(bytes)) forgive(notes.leniencies, 'invalid_utf8');
  const unknown = body.members.map(([name]) => name).filter((name) => !/^resource(S|_s)pans$/.test(name));
  return { resources, unknown: new Set(unknown), leniencies: notes.leniencies };
};
