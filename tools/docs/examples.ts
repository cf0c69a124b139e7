import {
  type CaseForm,
  type Exchange,
  type Outcome,
  type Receiver,
  readTopics,
  type StoredForm,
} from '../../test/support/examples/examples.ts';
import { answerOf, requestOf, shown } from './examples-text.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** Code of one line; a text with backticks gets more of them around it. */
const code = (text: string): string => {
  const fence = '`'.repeat(
    (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length + 1), 1),
  );
  return text.startsWith('`') || text.endsWith('`') ? `${fence} ${text} ${fence}` : `${fence}${text}${fence}`;
};

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** A heading has no variables: the table below it has their values. */
const headingOf = ({ name }: CaseForm): string => sentence(name.replace(/\$\([^)]*\)/g, '…'));

const timesOf = ({ times }: Exchange): string =>
  times === undefined || times === 1 ? '' : ` (${times} times)`;

const exchangeLines = (receiver: Receiver, exchanges: readonly Exchange[], outcome: Outcome = {}): string[] =>
  exchanges.flatMap((exchange) => {
    const { head, body } = requestOf(receiver, exchange.request);
    const answer = answerOf(receiver, exchange.response, outcome);
    return [
      `- **Sent**${timesOf(exchange)}: ${[head, body === '' ? '' : code(body)].filter((part) => part !== '').join(' ')}`,
      `- **Answered**: ${[answer.status, answer.body === '' ? '' : code(answer.body), answer.rest].filter((part) => part !== '').join(' ')}`,
    ];
  });

const rowsShown = 5;

const rowLines = (rows: readonly unknown[]): string[] => [
  ...rows.slice(0, rowsShown).map((row) => `  - ${code(shown(row))}`),
  ...(rows.length > rowsShown ? [`  - … ${rows.length} in all`] : []),
];

const storedLines = (stored: StoredForm, of: string): string[] => {
  const title = `- **Stored**${of === 'own' ? '' : ` for ${of}`}:`;
  if (stored === 'none') return [`${title} nothing`];
  if (Array.isArray(stored)) return stored.length === 0 ? [`${title} nothing`] : [title, ...rowLines(stored)];
  if (typeof stored !== 'object' || '$list' in stored) return [`${title} ${code(shown(stored))}`];
  const { count, rows, columns, queries } = Object(stored);
  const lines: string[] = [];
  if (count !== undefined) lines.push(`${title} ${shown(count)} rows`);
  if (Array.isArray(rows)) lines.push(title, ...rowLines(rows));
  if (lines.length === 0) lines.push(title);
  if (columns !== undefined) lines.push(`  - columns ${code(shown(columns))}`);
  for (const { sql, answer } of queries ?? [])
    lines.push(`  - ${code(String(sql))} answers ${code(shown(answer))}`);
  return lines;
};

const variableLines = ({ each }: CaseForm): string[] => {
  if (each === undefined) return [];
  const names = [...new Set(each.flatMap((row) => Object.keys(row)))];
  const shownAs = (name: string, value: unknown): string => {
    if (value === undefined) return '';
    return name === 'what' || name === 'where' ? String(value) : code(shown(value));
  };
  return [
    '',
    `| ${names.join(' | ')} |`,
    `|${names.map(() => '---').join('|')}|`,
    ...each.map((row) => `| ${names.map((name) => cell(shownAs(name, row[name]))).join(' | ')} |`),
  ];
};

const sourceOf = ({ source, others }: CaseForm): string[] => {
  const named = [
    ...(source === undefined || source === 'plain' ? [] : [`to a source that is ${code(shown(source))}`]),
    ...Object.entries(others ?? {}).map(
      ([name, form]) => `${code(name)} is another source, ${code(shown(form))}`,
    ),
  ];
  return named.length === 0 ? [] : [`- **Source**: ${named.join('; ')}`];
};

const caseLines = (receiver: Receiver, form: CaseForm): string[] => {
  const { request, response, exchanges } = form;
  const all = exchanges ?? (request === undefined || response === undefined ? [] : [{ request, response }]);
  return [
    '',
    `### ${headingOf(form)}`,
    '',
    ...(form.note === undefined ? [] : [form.note, '']),
    ...sourceOf(form),
    ...exchangeLines(receiver, Array.isArray(all) ? all : [], form.outcome),
    ...storedLines(form.stored, 'own'),
    ...Object.entries(form.stored_of ?? {}).flatMap(([of, stored]) => storedLines(stored, of)),
    `- **Rule**: ${form.rule}`,
    ...variableLines(form),
  ];
};

const pages: Readonly<Record<Receiver, readonly [title: string, about: string]>> = {
  push: [
    'The push receiver, case by case',
    'Requests of senders of custom metrics, the answer to each, and the rows that are stored. Unless a case shows another one, a ' +
      'request is `POST /v2/push/` on port 10205 with the `data_id` and `access_token` of its own data id, and the case shows its `data` alone.',
  ],
  traces: [
    'The trace receiver, case by case',
    'Requests of OTLP exporters, the answer to each, and the rows that are stored. Unless a case shows another one, a request is ' +
      '`POST /v1/traces` on port 4318 with the write token of its own application in `X-MON-TOKEN`. A case shows of a span the fields ' +
      'in which it differs from a valid one, and of a row the columns that the case is about. JSON and protobuf get the same answer, ' +
      'each in its own encoding.',
  ],
  logs: [
    'The receiver of logs, case by case',
    'Requests of OTLP exporters of logs, the answer to each, and the rows of `otel.otel_logs` that are stored. Unless a case shows ' +
      'another one, a request is `POST /v1/logs` on port 4318 with the write token of its own application in `X-MON-TOKEN`. A case ' +
      'shows of a log record the fields in which it differs from a valid one, and of a row the columns that the case is about. JSON ' +
      'and protobuf get the same answer, each in its own encoding. Credentials, encodings and limits of bodies, and `fill_dimensions` ' +
      'are those of the [receiver of traces](traces.md).',
  ],
  metrics: [
    'The receiver of OTLP metrics, case by case',
    'Requests of OTLP exporters of metrics, the answer to each, and the rows of the five tables `otel.otel_metrics_…` that are stored; ' +
      "`Table` is the end of the name of a row's table. Unless a case shows another one, a request is `POST /v1/metrics` on port 4318 " +
      'with the write token of its own application in `X-MON-TOKEN`. A case shows of a data point of the gauge `load` the fields in ' +
      'which it differs from a valid one, and of a row the columns that the case is about. JSON and protobuf get the same answer, each ' +
      'in its own encoding. Credentials, encodings and limits of bodies, and `fill_dimensions` are those of the [receiver of ' +
      'traces](traces.md). Points of the push API are another signal: [push](push.md).',
  ],
};

const notation =
  '`$now` is the moment of the request in milliseconds (`$now_s`, `$now_us`, `$now_ns` in other units, `$nanos` as decimal ' +
  'nanoseconds), `$data_id` and `$token` are those of the data id or application, `$absent` is a field that the request lacks. Where ' +
  'a case has a table, the other `$names` are its columns, and each row is one request. A rule cites the section of the ' +
  '[specification](../specification.md) or of the [architecture](../architecture.md) that demands it; H1 to H18 are the requirements ' +
  'of [OTLP/HTTP](otlp.md#requirements-of-otlphttp). "original" means that the original collector gives this answer, "differs" means that it gives ' +
  'another one. [Reasons](../reasons.md) lists the reasons with their meaning and remedy.';

/** docs/receivers/<receiver>.md: the files under schemas/examples as a reference for those who send. */
export const examplesDocument = (receiver: Receiver): string => {
  const topics = readTopics(receiver);
  const [title, about] = pages[receiver];
  return [
    `# ${title}`,
    '',
    `\`make docs\` writes this page from \`schemas/examples/${receiver}\`. \`test/contract/examples.test.ts\` runs every case against`,
    'real engines.',
    '',
    about,
    '',
    notation,
    '',
    ...topics.map(({ file }) => `- [${file.title}](#${anchorOf(file.title)})`),
    ...topics.flatMap(({ file }) => [
      '',
      `## ${file.title}`,
      '',
      file.about,
      ...file.cases.flatMap((form) => caseLines(receiver, form)),
    ]),
    '',
  ].join('\n');
};

const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number} _-]/gu, '')
    .replaceAll(' ', '-');
