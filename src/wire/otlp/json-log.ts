import { idIs } from './any-value.ts';
import type { JsonFields } from './json-fields.ts';
import { KeySet } from './json-keys.ts';
import type { JsonItemReader } from './json-reader.ts';
import { logIdPlaces } from './log-slots.ts';
import type { ItemVisitor } from './read-state.ts';
import { severityMax, severityNames } from './severities.ts';

const recordKeys = new KeySet([
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
]);

const flagsMax = 2 ** 32 - 1;

/** Reads one log record of JSON into the slots. */
export class JsonLogReader implements JsonItemReader {
  private readonly fields: JsonFields;

  constructor(fields: JsonFields) {
    this.fields = fields;
  }

  read(visitor: ItemVisitor): void {
    this.readItem();
    visitor.item();
  }

  private readItem(): void {
    const { cursor, value, state } = this.fields;
    const { record } = state;
    record.clear();
    value.cutValues = 0;
    if (cursor.kind() !== 'object') {
      const from = cursor.at;
      cursor.skip();
      record.fault.set('record_not_object', '', '', cursor.shown(from));
      return;
    }
    let seen = 0;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      const member = this.fields.member(recordKeys, seen);
      if (member < 0) {
        cursor.skip();
        continue;
      }
      seen |= 1 << member;
      if (member < 5) this.readField(member);
      else this.readContextField(member);
    }
    record.cutValues = value.cutValues;
  }

  private readField(member: number): void {
    const { fields } = this;
    const { record } = fields.state;
    if (member === 0) fields.time(record.time);
    else if (member === 1) fields.time(record.observed);
    else if (member === 2) this.readSeverity();
    else if (member === 3) {
      record.size += fields.text(record.fault, 'severityText');
      record.severityStart = fields.start;
      record.severityEnd = fields.end;
    } else this.readBody();
  }

  private readContextField(member: number): void {
    const { fields } = this;
    const { record } = fields.state;
    if (member === 5) record.size += fields.attributes(record.attributes, 0, record.fault, 'attributes');
    else if (member === 6) record.flags = fields.count(flagsMax, record.fault, 'flags');
    else if (member === 7) record.hasTrace = this.readId(logIdPlaces.trace, 32);
    else if (member === 8) record.hasSpan = this.readId(logIdPlaces.span, 16);
    else {
      record.size += fields.text(record.fault, 'eventName');
      record.eventStart = fields.start;
      record.eventEnd = fields.end;
    }
  }

  private readSeverity(): void {
    const { cursor, state } = this.fields;
    const { fault } = state.record;
    cursor.peek();
    const from = cursor.at;
    const number = this.fields.enumNumber(severityNames, fault, 'severityNumber');
    if (number >= 0 && number <= severityMax) state.record.severityNumber = number;
    else if (Number.isNaN(number)) state.forgive('enum_unknown');
    else {
      const expected = `expected a number from 0 to ${severityMax}`;
      fault.set('record_field_invalid', 'severityNumber', expected, cursor.shown(from));
    }
  }

  private readBody(): void {
    const { value, state } = this.fields;
    const { record } = state;
    value.read();
    if (value.problem !== '') record.fault.set('record_field_invalid', 'body', value.problem, value.got);
    record.size += value.size;
    record.bodyStart = value.start;
    record.bodyEnd = value.end;
  }

  /** A record with a wrong id belongs to no trace. */
  private readId(place: number, length: number): boolean {
    const { fields } = this;
    const answer = fields.id(fields.state.record.ids, place, length);
    if (answer !== idIs.valid && answer !== idIs.absent && answer !== idIs.zero)
      fields.state.forgive('record_id_invalid');
    return answer === idIs.valid;
  }
}
