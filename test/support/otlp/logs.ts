import {
  encodeAttribute,
  encodeResource,
  encodeScope,
  encodeValue,
  Message,
  type OtlpAttribute,
  type OtlpResourceSpans,
  type OtlpScopeSpans,
  type OtlpValue,
  one,
} from './protobuf.ts';

/** A request of logs in OTLP's canonical JSON form. */
export type OtlpLogRecord = {
  timeUnixNano?: string;
  observedTimeUnixNano?: string;
  severityNumber?: number;
  severityText?: string;
  body?: OtlpValue;
  attributes?: OtlpAttribute[];
  droppedAttributesCount?: number;
  flags?: number;
  traceId?: string;
  spanId?: string;
  eventName?: string;
};
export type OtlpScopeLogs = {
  scope?: OtlpScopeSpans['scope'];
  logRecords?: OtlpLogRecord[];
  schemaUrl?: string;
};
export type OtlpResourceLogs = {
  resource?: OtlpResourceSpans['resource'];
  scopeLogs?: OtlpScopeLogs[];
  schemaUrl?: string;
};
export type OtlpLogsRequest = { resourceLogs?: OtlpResourceLogs[] };

const encodeLogRecord = (record: OtlpLogRecord): Message =>
  new Message()
    .fixed64(1, record.timeUnixNano)
    .varint(2, record.severityNumber)
    .text(3, record.severityText)
    .messages(5, one(record.body), encodeValue)
    .messages(6, record.attributes, encodeAttribute)
    .varint(7, record.droppedAttributesCount)
    .fixed32(8, record.flags)
    .hex(9, record.traceId)
    .hex(10, record.spanId)
    .fixed64(11, record.observedTimeUnixNano)
    .text(12, record.eventName);

/** ExportLogsServiceRequest on the wire. */
export const encodeLogsProtobuf = ({ resourceLogs }: OtlpLogsRequest): Buffer =>
  new Message()
    .messages(1, resourceLogs, ({ resource, scopeLogs, schemaUrl }) =>
      new Message()
        .messages(1, one(resource), encodeResource)
        .messages(2, scopeLogs, ({ scope, logRecords, schemaUrl: scopeUrl }) =>
          new Message()
            .messages(1, one(scope), encodeScope)
            .messages(2, logRecords, encodeLogRecord)
            .text(3, scopeUrl),
        )
        .text(3, schemaUrl),
    )
    .end();
