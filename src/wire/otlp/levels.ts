import type { ItemReason } from '../../model/reasons.ts';
import { KeySet } from './json-keys.ts';

/** What a signal calls the levels of its requests in JSON. In protobuf every signal has them under the same field numbers. */
export type LevelNames = {
  readonly resources: string;
  readonly scopes: string;
  readonly items: string;
  /** Its items in the plural, for senders. */
  readonly itemsText: string;
  /** The reason for a field of an item that has another type than OTLP defines. */
  readonly fieldInvalid: ItemReason;
  /** Whether rows have the attributes of a scope and the schema URLs of resources and scopes; else they are not read. */
  readonly keepsScopes: boolean;
  /** Whether rows have the number of attributes that a scope has lost; else it is not read. */
  readonly keepsDropped?: boolean;
};

/** The levels of a signal's requests, with the names of the members of each. */
export class Levels {
  readonly names: LevelNames;
  readonly request: KeySet;
  /** Members of an entry of the request: 0 is the resource, 1 the scopes, 2 the schema URL. */
  readonly resources: KeySet;
  readonly resource = new KeySet(['attributes']);
  /** Members of an entry of a resource: 0 is the scope, 1 the items, 2 the schema URL. */
  readonly scopes: KeySet;
  /** Members of a scope: name, version, attributes, dropped attributes. */
  readonly scope: KeySet;

  constructor(names: LevelNames) {
    const { resources, scopes, items, keepsScopes, keepsDropped } = names;
    const schema = keepsScopes ? ['schemaUrl'] : [];
    this.names = names;
    this.request = new KeySet([resources]);
    this.resources = new KeySet(['resource', scopes, ...schema]);
    this.scopes = new KeySet(['scope', items, ...schema]);
    this.scope = new KeySet([
      ...['name', 'version', ...(keepsScopes ? ['attributes'] : [])],
      ...(keepsDropped === true ? ['droppedAttributesCount'] : []),
    ]);
  }
}

export const logLevels = new Levels({
  resources: 'resourceLogs',
  scopes: 'scopeLogs',
  items: 'logRecords',
  itemsText: 'log records',
  fieldInvalid: 'record_field_invalid',
  keepsScopes: true,
});

/** The entries of a scope are metrics, and the items are their data points. */
export const metricLevels = new Levels({
  resources: 'resourceMetrics',
  scopes: 'scopeMetrics',
  items: 'metrics',
  itemsText: 'data points',
  fieldInvalid: 'data_point_field_invalid',
  keepsScopes: true,
  keepsDropped: true,
});

export const spanLevels = new Levels({
  resources: 'resourceSpans',
  scopes: 'scopeSpans',
  items: 'spans',
  itemsText: 'spans',
  fieldInvalid: 'span_field_invalid',
  keepsScopes: false,
});
