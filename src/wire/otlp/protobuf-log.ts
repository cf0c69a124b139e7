import { idIs } from './any-value.ts';
import { logIdPlaces } from './log-slots.ts';
import type { ProtobufFields } from './protobuf-fields.ts';
import { readId } from './protobuf-ids.ts';
import type { ProtobufItemReader } from './protobuf-reader.ts';
import { ProtobufValueReader } from './protobuf-value.ts';
import type { ItemVisitor } from './read-state.ts';
import { severityMax } from './severities.ts';

/** Reads one log record of protobuf into the slots. */
export class ProtobufLogReader implements ProtobufItemReader {
  private readonly fields: ProtobufFields;
  /** Apart from the reader of attributes: parts of a body may lie before and after them. */
  private readonly body: ProtobufValueReader;
  private traceProblem = '';
  private spanProblem = '';

  constructor(fields: ProtobufFields) {
    this.fields = fields;
    this.body = new ProtobufValueReader(fields.cursor, fields.state, fields.state.nestedBody);
  }

  read(end: number, visitor: ItemVisitor): void {
    this.readItem(end);
    visitor.item();
  }

  private readItem(end: number): void {
    const { fields, body } = this;
    const { cursor, value, state } = fields;
    const { record } = state;
    record.clear();
    body.clear();
    value.cutValues = body.cutValues = 0;
    this.traceProblem = this.spanProblem = idIs.absent;
    while (cursor.at < end) {
      const tag = cursor.tag();
      switch (tag) {
        case 0x32:
          record.size += fields.attribute(
            cursor.enter(end),
            record.attributes,
            0,
            record.fault,
            'attributes',
          );
          break;
        case 0x09:
          fields.time(end, record.time);
          break;
        case 0x59:
          fields.time(end, record.observed);
          break;
        case 0x10:
          cursor.varint();
          record.severityNumber = cursor.low | 0;
          break;
        case 0x1a: {
          const stop = cursor.enter(end);
          record.severityStart = cursor.at;
          record.severityEnd = cursor.at = stop;
          break;
        }
        case 0x2a:
          body.read(cursor.enter(end));
          break;
        default:
          this.readRareField(tag, end);
      }
    }
    cursor.expectEnd(end);
    this.finish();
  }

  private readRareField(tag: number, end: number): void {
    const { cursor, state } = this.fields;
    const { record } = state;
    if (tag === 0x4a)
      this.traceProblem = readId(cursor, cursor.enter(end), 16, record.ids, logIdPlaces.trace);
    else if (tag === 0x52)
      this.spanProblem = readId(cursor, cursor.enter(end), 8, record.ids, logIdPlaces.span);
    else if (tag === 0x45) {
      cursor.fixed32(end);
      record.flags = cursor.low;
    } else if (tag === 0x62) {
      const stop = cursor.enter(end);
      record.eventStart = cursor.at;
      record.eventEnd = cursor.at = stop;
    } else {
      const from = cursor.at;
      cursor.skip(tag, end);
      // A trace id of 16 bytes with its length, where a record has its time.
      if (tag === 0x0a && cursor.at - from === 17)
        this.fields.lookLike = 'they look like spans: send them to the path or the service of traces';
      // The data of a sum, where a record has a number of lost attributes.
      else if (tag === 0x3a)
        this.fields.lookLike = 'they look like metrics: send them to the path or the service of metrics';
    }
  }

  private finish(): void {
    const { body } = this;
    const { value, state } = this.fields;
    const { record } = state;
    body.finish();
    record.bodyStart = body.start;
    record.bodyEnd = body.end;
    record.cutValues = value.cutValues + body.cutValues;
    record.size +=
      body.size + record.severityEnd - record.severityStart + record.eventEnd - record.eventStart;
    record.hasTrace = this.isValid(this.traceProblem);
    record.hasSpan = this.isValid(this.spanProblem);
    const { severityNumber } = record;
    if (severityNumber >= 0 && severityNumber <= severityMax) return;
    const expected = `expected a number from 0 to ${severityMax}`;
    record.fault.set('record_field_invalid', 'severityNumber', expected, String(severityNumber));
  }

  /** A record with a wrong id belongs to no trace. */
  private isValid(problem: string): boolean {
    if (problem !== idIs.valid && problem !== idIs.absent && problem !== idIs.zero)
      this.fields.state.forgive('record_id_invalid');
    return problem === idIs.valid;
  }
}
