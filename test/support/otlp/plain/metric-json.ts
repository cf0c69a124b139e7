import { expectObject, itemsOf } from './json.ts';
import { idField, Notes, textField, timeField, wholeNumber } from './json-fields.ts';
import { type Json, readJson } from './json-text.ts';
import { attributesField, doubleIn } from './json-value.ts';
import {
  emptyExemplar,
  emptyMetric,
  emptyMetricResource,
  emptyMetricScope,
  emptyPoint,
  hasTemporality,
  type PlainExemplar,
  type PlainKind,
  type PlainMetric,
  type PlainMetricResource,
  type PlainMetricScope,
  type PlainMetrics,
  type PlainNumber,
  type PlainPoint,
  plainKinds,
} from './metric-model.ts';
import { NotReadable, type PlainFault, type Text } from './model.ts';

const shared = ['attributes', 'startTimeUnixNano', 'timeUnixNano', 'flags', 'exemplars'] as const;
const distribution = ['count', 'sum', 'min', 'max'] as const;
const number = [...shared, 'asDouble', 'asInt'] as const;

const names = {
  gauge: number,
  sum: number,
  histogram: [...shared, ...distribution, 'bucketCounts', 'explicitBounds'],
  exponentialHistogram: [
    ...shared,
    ...distribution,
    ...(['scale', 'zeroCount', 'positive', 'negative', 'zeroThreshold'] as const),
  ],
  summary: [...shared, 'count', 'sum', 'quantileValues'],
} as const;

const invalid = (field: string): PlainFault => ({ reason: 'data_point_field_invalid', field });

/** Reads the fields of one object, whose faults it collects. */
class Fields {
  readonly faults: PlainFault[];
  readonly notes: Notes;

  constructor(faults: PlainFault[], notes: Notes) {
    this.faults = faults;
    this.notes = notes;
  }

  double(value: Json, field: string): number | undefined {
    if (value.type === 'null') return undefined;
    const read = doubleIn(value);
    if (read === undefined) this.faults.push(invalid(field));
    return read;
  }

  integer(value: Json, field: string, min: bigint, max: bigint): bigint | undefined {
    if (value.type === 'null') return undefined;
    let digits: string | undefined;
    if (value.type === 'number') digits = wholeNumber(value.source);
    else if (value.type === 'string' && /^-?\d{1,40}$/.test(value.text)) digits = value.text;
    const whole = digits === undefined ? undefined : BigInt(digits);
    if (whole !== undefined && whole >= min && whole <= max) return whole;
    this.faults.push(invalid(field));
    return undefined;
  }

  count(value: Json, field: string): bigint {
    return this.integer(value, field, 0n, 2n ** 64n - 1n) ?? 0n;
  }

  int32(value: Json, field: string): number {
    return Number(this.integer(value, field, -(2n ** 31n), 2n ** 31n - 1n) ?? 0n);
  }

  word(value: Json, field: string): number {
    if (value.type === 'null') return 0;
    let digits: string | undefined;
    if (value.type === 'string') digits = value.text;
    else if (value.type === 'number') digits = wholeNumber(value.source);
    if (digits !== undefined && /^\d{1,10}$/.test(digits) && Number(digits) < 2 ** 32) return Number(digits);
    this.faults.push(invalid(field));
    return 0;
  }

  text(value: Json, field: string): Text {
    const wrong: PlainFault[] = [];
    const read = textField(value, wrong, field);
    this.faults.push(...wrong.map(() => invalid(field)));
    return read;
  }

  items(value: Json, field: string): readonly Json[] {
    if (value.type === 'array') return value.items;
    if (value.type !== 'null') this.faults.push(invalid(field));
    return [];
  }

  /** The objects among the items; each other is a fault. */
  objects(value: Json, field: string): Json[] {
    return this.items(value, field).filter((item) => {
      if (item.type !== 'object') this.faults.push(invalid(`${field}[]`));
      return item.type === 'object';
    });
  }

  counts(value: Json, field: string): bigint[] {
    return this.items(value, field).map((item) => {
      if (item.type === 'null') this.faults.push(invalid(`${field}[]`));
      return this.count(item, `${field}[]`);
    });
  }

  number(name: 'asDouble' | 'asInt', value: Json, before: PlainNumber, path: string): PlainNumber {
    if (name === 'asDouble') {
      const double = this.double(value, `${path}asDouble`);
      return double === undefined ? before : { kind: 'double', value: double };
    }
    const whole = this.integer(value, `${path}asInt`, -(2n ** 63n), 2n ** 63n - 1n);
    return whole === undefined ? before : { kind: 'int', value: whole };
  }
}

const exemplarNames = [
  'filteredAttributes',
  'timeUnixNano',
  'asDouble',
  'asInt',
  'spanId',
  'traceId',
] as const;

const readExemplar = (json: Json, fields: Fields): PlainExemplar => {
  const exemplar = emptyExemplar();
  const { notes, faults } = fields;
  for (const [name, value] of notes.members(json, exemplarNames)) {
    if (name === 'filteredAttributes')
      exemplar.attributes = attributesField(value, notes, faults, 'exemplars[].filteredAttributes');
    else if (name === 'timeUnixNano') exemplar.time = timeField(value, notes);
    else if (name === 'spanId') exemplar.spanId = idField(value, 8);
    else if (name === 'traceId') exemplar.traceId = idField(value, 16);
    else exemplar.value = fields.number(name, value, exemplar.value, 'exemplars[].');
  }
  return exemplar;
};

const readSide = (json: Json, fields: Fields, field: string) => {
  let offset = 0;
  let counts: bigint[] = [];
  if (json.type !== 'object') {
    if (json.type !== 'null') fields.faults.push(invalid(field));
    return { offset, counts };
  }
  for (const [name, value] of fields.notes.members(json, ['offset', 'bucketCounts'])) {
    if (name === 'offset') offset = fields.int32(value, `${field}.offset`);
    else counts = fields.counts(value, `${field}.bucketCounts`);
  }
  return { offset, counts };
};

const readQuantile = (json: Json, fields: Fields) => {
  const pair = { quantile: 0, value: 0 };
  for (const [name, value] of fields.notes.members(json, ['quantile', 'value']))
    pair[name] = fields.double(value, `quantileValues[].${name}`) ?? 0;
  return pair;
};

type Name = (typeof names)[PlainKind][number];

const setField = (point: PlainPoint, name: Name, value: Json, fields: Fields, isSummary: boolean): void => {
  const { notes, faults } = fields;
  if (name === 'attributes') point.attributes = attributesField(value, notes, faults, name);
  else if (name === 'startTimeUnixNano') point.start = timeField(value, notes);
  else if (name === 'timeUnixNano') point.time = timeField(value, notes);
  else if (name === 'flags') point.flags = fields.word(value, name);
  else if (name === 'exemplars') {
    if (!isSummary) point.exemplars = fields.objects(value, name).map((each) => readExemplar(each, fields));
  } else if (name === 'asDouble' || name === 'asInt')
    point.value = fields.number(name, value, point.value, '');
  else if (name === 'count' || name === 'zeroCount') point[name] = fields.count(value, name);
  else if (name === 'sum' || name === 'min' || name === 'max') point[name] = fields.double(value, name);
  else if (name === 'bucketCounts') point.counts = fields.counts(value, name);
  else if (name === 'explicitBounds')
    point.bounds = fields.items(value, name).map((bound) => fields.double(bound, `${name}[]`) ?? Number.NaN);
  else if (name === 'scale') point.scale = fields.int32(value, name);
  else if (name === 'zeroThreshold') point.zeroThreshold = fields.double(value, name) ?? 0;
  else if (name === 'quantileValues')
    point.quantiles = fields.objects(value, name).map((each) => readQuantile(each, fields));
  else {
    const { offset, counts } = readSide(value, fields, name);
    if (name === 'positive') Object.assign(point, { positiveOffset: offset, counts });
    else Object.assign(point, { negativeOffset: offset, negative: counts });
  }
};

const readPoint = (json: Json, kind: PlainKind, notes: Notes): PlainPoint => {
  const point = emptyPoint();
  if (json.type !== 'object') {
    point.faults.push({ reason: 'data_point_not_object', field: '' });
    return point;
  }
  const fields = new Fields(point.faults, notes);
  for (const [name, value] of notes.members<Name>(json, names[kind]))
    setField(point, name, value, fields, kind === 'summary');
  return point;
};

const temporalities = ['UNSPECIFIED', 'DELTA', 'CUMULATIVE'];

/** By number or by name, with or without its prefix; one that OTLP does not have is 0. */
const temporalityOf = (value: Json, notes: Notes, faults: PlainFault[], field: string): number => {
  if (value.type === 'null') return 0;
  let found = -1;
  if (value.type === 'string') {
    notes.forgive('enum_name');
    const name = value.text
      .toUpperCase()
      .replace(/^(SPAN_KIND|STATUS_CODE|SEVERITY_NUMBER|AGGREGATION_TEMPORALITY)_/, '');
    found = temporalities.indexOf(name);
    if (found < 0 && /^(0|-?[1-9]\d{0,15})$/.test(value.text)) found = Number(value.text);
  } else {
    const digits = value.type === 'number' ? wholeNumber(value.source) : undefined;
    if (digits === undefined) {
      faults.push(invalid(field));
      return 0;
    }
    found = Number(digits);
  }
  if (found >= 0 && found <= 2) return found;
  notes.forgive('enum_unknown');
  return 0;
};

const dataNames = (kind: PlainKind) => [
  'dataPoints' as const,
  ...(hasTemporality(kind) ? (['aggregationTemporality'] as const) : []),
  ...(kind === 'sum' ? (['isMonotonic'] as const) : []),
];

/** Sets what the data of a kind has, and answers its points as sent. */
const readData = (metric: PlainMetric, kind: PlainKind, json: Json, notes: Notes): readonly Json[] => {
  expectObject(json, kind);
  metric.kind = kind;
  metric.temporality = 0;
  metric.isMonotonic = false;
  let points: readonly Json[] = [];
  for (const [name, value] of notes.members(json, dataNames(kind))) {
    if (name === 'dataPoints') points = itemsOf(value, name);
    else if (name === 'aggregationTemporality')
      metric.temporality = temporalityOf(value, notes, metric.faults, `${kind}.${name}`);
    else {
      metric.isMonotonic = value.type === 'true';
      if (value.type !== 'true' && value.type !== 'false' && value.type !== 'null')
        metric.faults.push(invalid(`${kind}.${name}`));
    }
  }
  return points;
};

const readMetric = (json: Json, notes: Notes): PlainMetric => {
  expectObject(json, 'metrics');
  const metric = emptyMetric();
  const fields = new Fields(metric.faults, notes);
  let points: readonly Json[] = [];
  const members = ['name', 'description', 'unit', 'metadata', ...plainKinds] as const;
  for (const [name, value] of notes.members(json, members)) {
    if (name === 'metadata')
      metric.metadata = attributesField(value, notes, metric.faults, 'metric.metadata');
    else if (name === 'name' || name === 'description' || name === 'unit')
      metric[name] = fields.text(value, `metric.${name}`);
    else if (value.type !== 'null') {
      const { kind, temporality, isMonotonic } = metric;
      const found = readData(metric, name, value, notes);
      if (points.length > 0 && found.length > 0) metric.faults.push(invalid(`metric.${kind}`));
      if (points.length > 0 && found.length === 0) Object.assign(metric, { kind, temporality, isMonotonic });
      else points = found;
    }
  }
  metric.points = points.map((point) => readPoint(point, metric.kind, notes));
  return metric;
};

/** A text above the metrics, where another kind makes the body unreadable. */
const outerText = (value: Json, name: string): Text => {
  if (value.type !== 'string' && value.type !== 'null') throw new NotReadable(name);
  return textField(value, [], name);
};

const scopeNames = ['name', 'version', 'attributes', 'droppedAttributesCount'] as const;

const readScope = (json: Json, notes: Notes): PlainMetricScope => {
  expectObject(json, 'scopeMetrics');
  const scope = emptyMetricScope();
  for (const [member, value] of notes.members(json, ['scope', 'metrics', 'schemaUrl'])) {
    if (member === 'metrics') scope.metrics = itemsOf(value, member).map((each) => readMetric(each, notes));
    else if (member === 'schemaUrl') scope.schema = outerText(value, member);
    else {
      if (value.type !== 'null') expectObject(value, member);
      for (const [name, inner] of notes.members(value, scopeNames)) {
        if (name === 'attributes')
          scope.attributes = attributesField(inner, notes, scope.faults, 'scope.attributes');
        else if (name === 'droppedAttributesCount')
          scope.dropped = new Fields(scope.faults, notes).word(inner, `scope.${name}`);
        else scope[name] = outerText(inner, name);
      }
    }
  }
  return scope;
};

const readResource = (json: Json, notes: Notes): PlainMetricResource => {
  expectObject(json, 'resourceMetrics');
  const resource = emptyMetricResource();
  for (const [member, value] of notes.members(json, ['resource', 'scopeMetrics', 'schemaUrl'])) {
    if (member === 'scopeMetrics')
      resource.scopes = itemsOf(value, member).map((scope) => readScope(scope, notes));
    else if (member === 'schemaUrl') resource.schema = outerText(value, member);
    else {
      if (value.type !== 'null') expectObject(value, member);
      for (const [, attributes] of notes.members(value, ['attributes']))
        resource.attributes = attributesField(attributes, notes, resource.faults, 'resource.attributes');
    }
  }
  return resource;
};

/** The JSON form of ExportMetricsServiceRequest as plain objects, read leniently. Throws NotReadable. */
export const metricsOfJson = (bytes: Uint8Array): PlainMetrics => {
  const notes = new Notes();
  const body = readJson(Buffer.from(bytes).toString('utf8'));
  if (body.type !== 'object') throw new NotReadable('no object');
  const resources: PlainMetricResource[] = [];
  for (const [name, value] of notes.members(body, ['resourceMetrics']))
    resources.push(...itemsOf(value, name).map((item) => readResource(item, notes)));
  return { resources, leniencies: notes.leniencies, hasRepeats: notes.hasRepeats };
};
