import { describe, expect, it } from 'vitest';
import { patternsInSource } from '../../support/patterns.ts';

/** Where texts of senders and of callers of the admin API pass; the other folders read settings, arguments and what engines print. */
const rooms = [
  'model',
  'wire',
  'http',
  'bus',
  'stores',
  'directory',
  'outcomes',
  'dead-letters',
  'ingress',
  'transfer',
  'metadata',
];

const reviewed: Readonly<Record<string, readonly string[]>> = {
  'the text is cut, or refused for its length, where the expression stands': [
    'dead-letters/preview.ts /token|secret|password|passwd|authorization|cookie|api[-_.]?key|credential/i',
    'http/client-address.ts /^(?:0{0,4}:){0,5}:?ffff:(.+)$/i',
    'http/client-address.ts /^([\\da-f]{1,4}):([\\da-f]{1,4})$/i',
    'http/client-address.ts /^\\[([^\\]]+)\\](?::\\d+)?$/',
    'http/client-address.ts /^([\\d.]+):\\d+$/',
    'ingress/http/hot-route.ts /^[a-z0-9._:-]+$/i',
    'ingress/otlp/credential.ts /\\s+/',
    'ingress/sender.ts /[^a-z0-9.+/_-]+/g',
    'ingress/sender.ts /[0-9a-f]{16}/i',
    'ingress/sender.ts /^\\s*([^\\s(]+)/',
    'ingress/sender.ts /^\\s*([^\\s/(]+)/',
    'ingress/sender.ts /[^\\w-]+/',
    'metadata/records/values.ts /^(-?\\d{1,10})_/',
    'metadata/api/account-endpoints.ts /^\\d{4}-\\d{2}-\\d{2}$/',
    'metadata/api/server.ts /^"\\d{1,15}"$/',
    'metadata/audit/entry.ts /(token|secret|password|document)s?$/',
    'metadata/audit/entry.ts /[^a-z0-9]/g',
    'metadata/audit/intents.ts /[^A-Za-z0-9_-]/g',
    'metadata/refresh/document.ts /^(\\s*(?:proxy_)?token: )"((?:[^"\\\\]|\\\\.)*)"$/gm',
    'metadata/refresh/document.ts /[^0-9a-z]/g',
    'metadata/refresh/polling-endpoint.ts /^-?\\d{1,10}$/',
    'metadata/records/values.ts /_time_series_(\\d{1,15})\\.__default__$/',
    'model/span-time.ts /^[0-9]{1,40}$/',
    'model/text-forms.ts /\\s+/g',
    'model/text-forms.ts /^bearer[ \\t]+(\\S+)[ \\t]*$/i',
    'outcomes/redaction.ts new RegExp',
    'outcomes/redaction.ts /\\b(bearer|basic)\\s{1,32}[\\w.~+/=-]{4,}/gi',
    'outcomes/redaction.ts /[A-Za-z0-9_.~+/=-]{8,}/g',
    'outcomes/redaction.ts /[A-Za-z0-9]{8,}/g',
    'outcomes/redaction.ts /[0-9a-f]{32,}/gi',
    'stores/questdb/sql.ts /["\\u0000-\\u001f\\u007f\\ufeff]/',
    'stores/questdb/table-states.ts /unexpected new WAL structure version|getColumnMetadata\\(int\\)|corruption in transaction metadata/',
    'stores/questdb/writer.ts /table: (.+); table does not exist, creating new tables is disabled/',
    'stores/questdb/writer.ts /column: .*(?:does not exist|creating new columns is disabled)/',
    'stores/questdb/writer.ts /possible corruption in transaction metadata \\[table=(.+)~\\d+,/',
    'transfer/points/point-letters.ts / (\\d+)\\n?$/',
    'wire/column-naming.ts /^[a-zA-Z_][a-zA-Z0-9_]*$/',
    'wire/line-protocol.ts /[ ,=\\\\\\n\\r]/',
    'wire/line-protocol.ts /[ ,=\\\\\\n\\r]/g',
    'wire/line-protocol.ts /["\\\\]/g',
    'wire/line-protocol.ts /[, ]uid=(\\d+)i(?: -?\\d+)?\\n?$/',
    'wire/message-serial.ts /^([1-9]\\d{0,8})\\.([1-9]\\d{0,14})\\.(\\d{1,9})$/',
    'wire/otlp/json-fields.ts /^(?:SPAN_KIND|STATUS_CODE)_/',
    'wire/otlp/json-fields.ts /^-?\\d{1,10}$/',
    'wire/otlp/json-fields.ts /^\\d$/',
    'wire/otlp/json-numbers.ts /^(-?)(\\d+)(?:\\.(\\d+))?(?:[eE]([+-]?\\d{1,4}))?$/',
    'wire/otlp/json-numbers.ts /^0+/',
    'wire/otlp/json-numbers.ts /[^0]/',
    'wire/otlp/json-value.ts /^-?\\d{1,40}$/',
    'wire/otlp/protobuf-ids.ts /^[0-9A-Fa-f]+$/',
  ],
  'it looks at one character or two': [
    'http/request-target.ts /^[A-Za-z0-9._~-]$/',
    'http/request-target.ts /^[0-9A-Fa-f]{2}$/',
    'model/visible-text.ts /^[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Cs}[\\p{Default_Ignorable_Code_Point}--\\p{Variation_Selector}]]$/v',
  ],
  'the reader of bodies cuts the names that it notes at 80 characters': ['ingress/otlp/hints.ts /_([a-z])/g'],
  'the redaction asks with a part of what it has cut': [
    'transfer/samples.ts /^(?:[0-9a-f]{32}|[0-9a-f]{64})$/i',
  ],
  'the engine quotes a few characters of what it cannot parse': ['ingress/push/decode.ts /position (\\d+)/'],
  'an address of a socket, or one that was parsed as an address': ['wire/otlp/resource-row.ts /^::ffff:/i'],
  'the server refuses a longer path': [
    'metadata/api/server.ts new RegExp',
    'metadata/api/params.ts /^\\d{1,15}$/',
  ],
  'a longer text of an input is refused before any schema': [
    'metadata/api/dead-letter-endpoints.ts /^\\d{1,12}$/',
    'metadata/api/outcome-endpoints.ts /^\\d{1,15}$/',
    'metadata/api/outcome-endpoints.ts /^\\d{1,10}$/',
    'metadata/api/outcome-endpoints.ts /^(\\d{1,14})\\.(\\d{1,8})\\.(\\d{1,15})$/',
    'metadata/api/usage-endpoints.ts /^-?\\d{1,10}$/',
    'metadata/api/usage-endpoints.ts /^[1-9]\\d{0,2}$/',
    'metadata/audit/audit.ts /^[1-9]\\d{0,14}$/',
    'metadata/audit/audit.ts /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/',
    'metadata/records/listing.ts /^-?\\d{1,10}$/',
    'metadata/records/listing.ts /^\\d{1,6}$/',
    'metadata/records/listing.ts /^[A-Za-z0-9_-]{1,64}$/',
    'metadata/refresh/polling-endpoint.ts /^\\d{1,4}$/',
    'metadata/refresh/polling-endpoint.ts /^\\d{1,15}\\.[0-9a-f]{32}$/',
    'metadata/api/dead-letter-endpoints.ts /^\\d{1,15}-\\d{1,15}$/',
    'metadata/backup.ts /^[1-9]\\d{0,14}$/',
    'directory/records.ts /^[0-9a-f]{32}$/',
    'metadata/records/requests.ts /^([a-zA-Z][a-zA-Z0-9_.]*(,[a-zA-Z][a-zA-Z0-9_.]*)*)?$/',
    'metadata/records/requests.ts /^[a-zA-Z][a-zA-Z0-9-]*__[^\\s_][^\\s]*$/',
    'metadata/records/requests.ts /^-?\\d{1,10}_custom_time_series_./',
    'metadata/records/texts.ts /\\s+/',
    // A name that such a schema has passed.
    'metadata/reports/operations.ts /^(-?\\d+)_custom_time_series_(.+)$/',
  ],
  'it describes an answer and checks nothing': [
    'metadata/api/contract.ts /^([0-9a-f]{4}\\*{28}|\\*{32})$/',
    'metadata/api/contract.ts /^[0-9a-f]{32}$/',
    'metadata/api/system-endpoints.ts /^[0-9a-f]{64}$/',
    'directory/records.ts /^\\d{10}$/',
    'directory/records.ts /^(1[5-9]|20)\\d{5}$/',
    'directory/records.ts /^[1-9]\\d*$/',
  ],
  'a text of the program itself: a key, an id, a statement, a setting, a path of its own': [
    'dead-letters/dead-letter.ts /^METRICS(-|$)/',
    'dead-letters/dead-letter.ts /^dl:(.+):\\d+$/',
    'dead-letters/received-item.ts /^(\\d{1,20})\\+(\\d{1,10})$/',
    'directory/applications.ts /^(application|application_policy|previous_application_token|application_identity)\\.(\\d{1,15})$/',
    'directory/column-recovery.ts /^table\\.(\\d{1,15})$/',
    'directory/directory.ts /^(data_source|previous_token|application|previous_application_token)\\./',
    'directory/placements.ts /^placement\\.(\\d{1,15})$/',
    'directory/purges.ts /^purge\\.(\\d{1,15})$/',
    'directory/sources.ts /^([a-z_]+)\\.(\\d{1,15})$/',
    'metadata/tokens/admin-tokens.ts /^[0-9a-f]{64}$/',
    'metadata/api/openapi.ts /^\\/operations\\/(.+)$/',
    'metadata/api/openapi.ts /^\\/api\\/v1\\//',
    'metadata/api/openapi.ts /\\{(\\w+)\\}/g',
    'metadata/api/openapi.ts /\\W+/g',
    'metadata/api/server.ts /\\{(\\w+)\\}/g',
    'metadata/api/server.ts /\\{\\w+\\}/g',
    'metadata/refresh/document.ts /[^\\x20-\\x7e]/gu',
    'metadata/refresh/http-node-management.ts /^\\s*(-?\\d{1,10}):(\\d{1,15})\\s*$/',
    'metadata/refresh/node-management-client.ts /\\/+$/',
    'model/instances.ts /^[a-z][a-z0-9_-]{0,31}$/',
    'stores/clickhouse/cluster.ts /^(CREATE (?:DATABASE|TABLE|MATERIALIZED VIEW|VIEW) IF NOT EXISTS|ALTER TABLE) ([\\w.]+)/m',
    'stores/clickhouse/cluster.ts /^(\\s*ENGINE = )((?:Replacing|Summing)?MergeTree)(?:\\(([^()]*)\\))?/m',
    'stores/clickhouse/cluster.ts /^cluster (.+)$/',
    'stores/clickhouse/migrate-ttl.ts / TTL (.+?)(?: SETTINGS |$)/',
    'stores/clickhouse/migrate.ts /^CREATE (?:TABLE|MATERIALIZED VIEW|VIEW) IF NOT EXISTS otel\\.(\\w+)/gm',
    'stores/clickhouse/migrations.ts /^(\\d{3})_[a-z0-9_]+\\.sql$/',
    'stores/clickhouse/query-id.ts /^tm-([^-]+)-(\\d{1,15})-(\\d{1,15})-(\\d{1,15})-(\\d{1,15})$/',
    'stores/clickhouse/query-id.ts /^(\\d{1,20})-(\\d{1,20})$/',
    'stores/questdb/tables.ts /^--.*$/gm',
    'stores/questdb/tables.ts /\\{\\{(\\w+)\\}\\}/g',
    'stores/questdb/writer.ts /(?:^\\[|\\berrno[=:] ?)(\\d{1,3})\\b/',
    'wire/column-recovery.ts /^(.+)__\\d+$/',
    'wire/message-key.ts /^\\d{1,20}$/',
    'wire/native/block-cursor.ts /^(?:U?Int64|DateTime64\\(\\d\\))$/',
    'wire/otlp/json-keys.ts /[A-Z]/g',
  ],
  'an answer of node management, of a MiB at most': [
    'metadata/refresh/node-management-client.ts /[0-9a-f]{32,}/gi',
    'metadata/refresh/node-management-client.ts /\\s+/g',
  ],
};

// An expression that backtracks over a body of megabytes stops a receiver for hours: none may read more than 2 KiB of
// untrusted text, and each must have been reviewed for that.
describe('every regular expression where texts of others pass', () => {
  const known = new Map(Object.entries(reviewed).flatMap(([why, each]) => each.map((one) => [one, why])));
  const found = patternsInSource(rooms);

  it('has a known bound', () => {
    expect(found.length).toBeGreaterThan(100);
    expect(
      found.filter((one) => !known.has(one)),
      'say in this test what bounds the text, or read it without an expression',
    ).toEqual([]);
  });

  it('is still there where one is listed', () => {
    expect([...known.keys()].filter((one) => !found.includes(one))).toEqual([]);
  });
});
