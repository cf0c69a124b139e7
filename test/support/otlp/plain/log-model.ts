import {
  noText,
  type PlainAttribute,
  type PlainFault,
  type PlainId,
  type PlainTime,
  type PlainValue,
  type Text,
} from './model.ts';

/** A log record as sent. */
export type PlainRecord = {
  readonly faults: PlainFault[];
  time: PlainTime;
  observed: PlainTime;
  severityNumber: number;
  severityText: Text;
  body: PlainValue;
  attributes: PlainAttribute[];
  flags: number;
  traceId: PlainId;
  spanId: PlainId;
  eventName: Text;
};

export type PlainLogScope = {
  readonly faults: PlainFault[];
  name: Text;
  version: Text;
  attributes: PlainAttribute[];
  schema: Text;
  records: PlainRecord[];
};

export type PlainLogResource = {
  readonly faults: PlainFault[];
  attributes: PlainAttribute[];
  schema: Text;
  scopes: PlainLogScope[];
};

export type PlainLogs = {
  readonly resources: PlainLogResource[];
  readonly leniencies: Map<string, number>;
  /** Whether a name comes twice in one object: then tokens are collected before it is settled which counts. */
  readonly hasRepeats: boolean;
};

export const emptyRecord = (): PlainRecord => ({
  faults: [],
  time: undefined,
  observed: undefined,
  severityNumber: 0,
  severityText: noText,
  body: { kind: 'none' },
  attributes: [],
  flags: 0,
  traceId: 'absent',
  spanId: 'absent',
  eventName: noText,
});

export const emptyLogScope = (): PlainLogScope => ({
  faults: [],
  name: noText,
  version: noText,
  attributes: [],
  schema: noText,
  records: [],
});

export const emptyLogResource = (): PlainLogResource => ({
  faults: [],
  attributes: [],
  schema: noText,
  scopes: [],
});
