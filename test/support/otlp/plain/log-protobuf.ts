import {
  emptyLogResource,
  emptyLogScope,
  emptyRecord,
  type PlainLogResource,
  type PlainLogScope,
  type PlainLogs,
  type PlainRecord,
} from './log-model.ts';
import { idOf } from './model.ts';
import { readAttribute, readMessage, readValue } from './protobuf.ts';

const readRecord = (bytes: Buffer): PlainRecord => {
  const record = emptyRecord();
  readMessage(bytes, {
    'fixed64 1': (time) => {
      record.time = time;
    },
    'varint 2': (severity) => {
      record.severityNumber = Number(BigInt.asIntN(32, severity));
    },
    'bytes 3': (text) => {
      record.severityText = text;
    },
    'bytes 5': (body) => {
      record.body = readValue(body, record.body, 0);
    },
    'bytes 6': (attribute) => void record.attributes.push(readAttribute(attribute)),
    'fixed32 8': (flags) => {
      record.flags = Number(flags);
    },
    'bytes 9': (id) => {
      record.traceId = idOf(id.toString('hex'), 16);
    },
    'bytes 10': (id) => {
      record.spanId = idOf(id.toString('hex'), 8);
    },
    'fixed64 11': (time) => {
      record.observed = time;
    },
    'bytes 12': (name) => {
      record.eventName = name;
    },
  });
  return record;
};

const readScopeLogs = (bytes: Buffer): PlainLogScope => {
  const scope = emptyLogScope();
  readMessage(bytes, {
    'bytes 1': (message) =>
      void readMessage(message, {
        'bytes 1': (name) => {
          scope.name = name;
        },
        'bytes 2': (version) => {
          scope.version = version;
        },
        'bytes 3': (attribute) => void scope.attributes.push(readAttribute(attribute)),
      }),
    'bytes 2': (record) => void scope.records.push(readRecord(record)),
    'bytes 3': (schema) => {
      scope.schema = schema;
    },
  });
  return scope;
};

const readResourceLogs = (bytes: Buffer): PlainLogResource => {
  const resource = emptyLogResource();
  readMessage(bytes, {
    'bytes 1': (message) =>
      void readMessage(message, {
        'bytes 1': (attribute) => void resource.attributes.push(readAttribute(attribute)),
      }),
    'bytes 2': (scope) => void resource.scopes.push(readScopeLogs(scope)),
    'bytes 3': (schema) => {
      resource.schema = schema;
    },
  });
  return resource;
};

/** ExportLogsServiceRequest as plain objects. Throws NotReadable. */
export const logsOfProtobuf = (bytes: Uint8Array): PlainLogs => {
  const resources: PlainLogResource[] = [];
  readMessage(Buffer.from(bytes), {
    'bytes 1': (message) => void resources.push(readResourceLogs(message)),
  });
  return { resources, leniencies: new Map(), hasRepeats: false };
};
