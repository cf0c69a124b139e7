import { bodyMax } from '../answers/explore.ts';
import {
  type Applications,
  type AttributeMatch,
  appParts,
  attributeParts,
  type Part,
  pairs,
  type Statement,
  statement,
} from './statement.ts';

/** The least SeverityNumber of each range of OTLP. */
const severities = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 } as const;
export type Severity = keyof typeof severities;
export const severityNames = [
  'trace',
  'debug',
  'info',
  'warn',
  'error',
  'fatal',
] as const satisfies readonly Severity[];

/** An attribute that a log record, or its resource, has with exactly this value. */
export type LogAttributeCondition = AttributeMatch & { readonly scope: 'log' | 'resource' };

/** Conditions that a log record fulfils together. */
export type LogConditions = {
  readonly applications: Applications;
  readonly service?: string | undefined;
  /** At least this severe; records without a severity are not. */
  readonly severity?: Severity | undefined;
  /** A text that the body has, with no letter or digit of ASCII beside one at its ends. */
  readonly text?: string | undefined;
  readonly trace_id?: string | undefined;
  readonly attributes: readonly LogAttributeCondition[];
};

/** Where a list ended: its last log record. Nanoseconds since 1970, and the uid in decimal. */
export type LogPlace = { readonly at: bigint; readonly uid: string };

const columnOfScope = { log: 'LogAttributes', resource: 'ResourceAttributes' } as const;

/** What the index of bodies takes as a word: letters and digits of ASCII, and all bytes beyond it. */
const tokens = /[0-9A-Za-z\u0080-\u{10ffff}]+/gu;

/** The words that the index has of every body with this text: at an end of the text, a body may go on with a byte beyond ASCII. */
const sureWords = (text: string): string[] => {
  const found = new Set<string>();
  for (const { 0: word, index } of text.matchAll(tokens))
    if (index > 0 && index + word.length < text.length) found.add(word);
  return [...found];
};

/** No letter or digit of ASCII before or behind; `\b` alone takes `_` for a letter. */
const edge = '(?:\\b|_)';

/** The text in a body, for RE2; undefined: it stands where its characters do, since no end of it is a letter or digit of ASCII. */
const patternOf = (text: string): string | undefined => {
  const before = /^[0-9A-Za-z]/.test(text) ? edge : '';
  const behind = /[0-9A-Za-z]$/.test(text) ? edge : '';
  if (before === '' && behind === '') return undefined;
  return `${before}${text.replaceAll(/[\\.+*?()|[\]{}^$]/g, '\\$&')}${behind}`;
};

const textParts = (text: string): Part[] => {
  const pattern = patternOf(text);
  return [
    // The index finds blocks by their words; the text itself has to stand in the body as well.
    ...sureWords(text).map(
      (word, index): Part => [`hasToken(Body, {word${index}:String})`, { [`word${index}`]: word }],
    ),
    pattern === undefined
      ? ['position(Body, {text:String}) > 0', { text }]
      : ['match(Body, {text:String})', { text: pattern }],
  ];
};

const conditionParts = (conditions: LogConditions): Part[] => {
  const { applications, service, severity, text, trace_id: trace, attributes } = conditions;
  const parts = appParts(applications);
  if (service !== undefined) parts.push(['ServiceName = {service:String}', { service }]);
  if (severity !== undefined)
    parts.push(['SeverityNumber >= {severity:Int64}', { severity: String(severities[severity]) }]);
  if (trace !== undefined) parts.push(['TraceId = {trace:String}', { trace }]);
  if (text !== undefined) parts.push(...textParts(text));
  return [...parts, ...attributeParts(attributes, ({ scope }) => columnOfScope[scope])];
};

const nanos = 1_000_000_000n;

/** The sort key begins with the service and the whole second. */
const windowPart = (since: bigint, until: bigint): Part => [
  'Timestamp >= fromUnixTimestamp64Nano({since:Int64}) AND Timestamp < fromUnixTimestamp64Nano({until:Int64}) ' +
    'AND TimestampTime >= toDateTime({first:Int64}) AND TimestampTime <= toDateTime({last:Int64})',
  { since: String(since), until: String(until), first: String(since / nanos), last: String(until / nanos) },
];

/** The newest matching log records of a window, nanoseconds since 1970, behind `before`. */
export const logsSql = (
  conditions: LogConditions,
  [since, until]: readonly [bigint, bigint],
  before: LogPlace | undefined,
  limit: number,
): Statement => {
  const behind: Part[] =
    before === undefined
      ? []
      : [
          [
            '(Timestamp, uid) < (fromUnixTimestamp64Nano({beforeAt:Int64}), {beforeUid:UInt64})',
            { beforeAt: String(before.at), beforeUid: before.uid },
          ],
        ];
  return statement(
    `SELECT ${[
      'uid, toUnixTimestamp64Nano(Timestamp) AS at, toUnixTimestamp64Nano(ObservedTimestamp) AS observed, AppId AS app_id',
      'ServiceName AS service, SeverityNumber AS severity_number, SeverityText AS severity_text',
      `substringUTF8(Body, 1, ${bodyMax}) AS body_shown, length(Body) AS body_bytes, EventName AS event_name`,
      'TraceId AS trace_id, SpanId AS span_id, ScopeName AS scope_name, ScopeVersion AS scope_version',
      pairs('LogAttributes', 'attribute'),
      pairs('ResourceAttributes', 'resource'),
    ].join(', ')} FROM otel.otel_logs`,
    [windowPart(since, until), ...behind, ...conditionParts(conditions)],
    ` ORDER BY Timestamp DESC, uid DESC LIMIT ${limit}`,
  );
};
