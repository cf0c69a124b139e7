import { ByteSource } from '../native/bytes.ts';
import { quote } from './json-bytes.ts';
import { JsonCursor } from './json-cursor.ts';
import { snakeOf } from './json-keys.ts';
import { Scratch } from './scratch.ts';
import { TooManyElements } from './types.ts';

/** Names of OTLP's JSON that have a second form. */
const twoWords = [
  'resourceSpans',
  'scopeSpans',
  'traceId',
  'spanId',
  'traceState',
  'parentSpanId',
  'startTimeUnixNano',
  'endTimeUnixNano',
  'timeUnixNano',
  'resourceLogs',
  'scopeLogs',
  'logRecords',
  'observedTimeUnixNano',
  'severityNumber',
  'severityText',
  'eventName',
  'schemaUrl',
  'resourceMetrics',
  'scopeMetrics',
  'droppedAttributesCount',
  'exponentialHistogram',
  'dataPoints',
  'aggregationTemporality',
  'isMonotonic',
  'asDouble',
  'asInt',
  'bucketCounts',
  'explicitBounds',
  'zeroCount',
  'zeroThreshold',
  'quantileValues',
  'filteredAttributes',
  'stringValue',
  'boolValue',
  'intValue',
  'doubleValue',
  'bytesValue',
  'arrayValue',
  'kvlistValue',
];
const camelNames = new Map(twoWords.map((name) => [snakeOf(name), name]));

const colon = 0x3a;
const space = 0x20;
const depthMax = 10_000;

type Member = { readonly start: number; next: number };

/** The members of the current object: the start of the last member of each name, and of the one after it. */
type Members = { readonly byName: Map<string, Member>; last: Member };

const noMember = (): Member => ({ start: 0, next: 0 });

/** Members that an object may have: none of OTLP has a hundredth of it. */
const membersMax = 10_000;

/** Overwrites the members of a JSON text that occur again later in their object, with the comma after them. */
class RepeatEraser {
  /** Where those members begin; some lie within others. */
  private repeated = new Float64Array(64);
  private repeatedCount = 0;
  private readonly body: Buffer;
  private readonly scratch = new Scratch();
  private readonly cursor: JsonCursor;
  /** Objects that were entered, undefined for arrays. */
  private readonly open: (Members | undefined)[] = [];

  constructor(body: Buffer) {
    this.body = body;
    this.cursor = new JsonCursor(new ByteSource(body), this.scratch);
  }

  /** False when there are none. */
  run(): boolean {
    this.find();
    // Each byte is overwritten once, however deep repeated members lie in repeated members.
    let done = 0;
    for (const start of this.repeated.subarray(0, this.repeatedCount).sort()) {
      if (start < done) continue;
      done = this.body.readUInt32LE(start);
      this.body.fill(space, start, done);
    }
    return done > 0;
  }

  private find(): void {
    const { cursor, open } = this;
    for (;;) {
      if (this.enterValue()) continue;
      for (;;) {
        if (open.length === 0) return;
        const members = open.at(-1);
        if (members === undefined ? cursor.nextItem() : cursor.nextMember()) {
          if (members !== undefined) this.enterMember(members);
          break;
        }
        open.pop();
      }
    }
  }

  /** Skips a value without parts; true for an object or an array, which is entered. */
  private enterValue(): boolean {
    const { cursor, open } = this;
    const kind = cursor.kind();
    this.scratch.length = 0;
    if (kind === 'string') cursor.string();
    else if (kind === 'number') cursor.number();
    else if (kind !== 'object' && kind !== 'array') cursor.literal(kind);
    else if (cursor.open()) {
      if (open.length === depthMax) throw cursor.malformed(`nested deeper than the limit of ${depthMax}`);
      if (kind === 'array') open.push(undefined);
      else {
        const members: Members = { byName: new Map(), last: noMember() };
        open.push(members);
        this.enterMember(members);
      }
      return true;
    }
    return false;
  }

  /** Reads the name of a member up to its value, and notes the member that had it before. */
  private enterMember(members: Members): void {
    const { cursor, body, scratch } = this;
    if (cursor.peek() !== quote) throw cursor.malformed('expected a name in quotes');
    const start = cursor.at;
    scratch.length = 0;
    cursor.string();
    const name =
      cursor.start < 0
        ? Buffer.from(scratch.source.bytes.subarray(~cursor.start, ~cursor.end)).toString('utf8')
        : body.toString('utf8', cursor.start, cursor.end);
    if (cursor.peek() !== colon) throw cursor.malformed('expected a colon');
    cursor.at++;
    members.last.next = start;
    members.last = { start, next: start };
    const camel = camelNames.get(name) ?? name;
    const earlier = members.byName.get(camel);
    members.byName.set(camel, members.last);
    if (members.byName.size > membersMax)
      throw new TooManyElements(
        `an object of the body has more than ${membersMax} members: send smaller objects`,
      );
    if (earlier === undefined) return;
    this.noteRepeated(earlier);
  }

  private noteRepeated({ start, next }: Member): void {
    if (this.repeatedCount === this.repeated.length) {
      const larger = new Float64Array(2 * this.repeated.length);
      larger.set(this.repeated);
      this.repeated = larger;
    }
    this.repeated[this.repeatedCount++] = start;
    // Its end stands in its own bytes, which are read already and will be overwritten: no member has fewer than four.
    this.body.writeUInt32LE(next, start);
  }
}

/**
 * The same JSON with each name once in each object, the last one sent, in its place; undefined when no name is
 * repeated. Slow: used only for a body that a reader has refused. Throws MalformedBody and TooManyElements.
 */
export const withoutRepeats = (body: Uint8Array): Buffer | undefined => {
  const copy = Buffer.from(body);
  return new RepeatEraser(copy).run() ? copy : undefined;
};
