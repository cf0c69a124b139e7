import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pipeline } from '../model/signals.ts';

/** A text that a producer copies to send its first item. */
export type Snippet = {
  readonly pipeline: Pipeline;
  /** Short, for an address or an option; of one owner no two have the same. */
  readonly name: string;
  readonly title: string;
  /** The language of its text, as Markdown names it. */
  readonly language: string;
  /** What it needs beside the text; empty where that is nothing. */
  readonly needs: string;
  /** Below `schemas/snippets`. */
  readonly file: string;
  /** Whether it sends over gRPC; without one it does not. */
  readonly isGrpc?: boolean;
};

const of =
  (pipeline: Snippet['pipeline']) =>
  (name: string, title: string, language: string, file: string, needs = ''): Snippet => ({
    ...{ pipeline, name, title, language, needs },
    file: `${pipeline}/${file}`,
  });
const push = of('metrics');
const spans = of('traces');
const records = of('logs');
const dataPoints = of('otel_metrics');

const goModule = (file: string): string =>
  `\`${file}\` in a module; \`go mod tidy\` gets the packages, \`go run .\` runs it`;
const javaPackages = (file: string): string =>
  `Java 17 or newer, \`io.opentelemetry:opentelemetry-sdk\` and \`opentelemetry-exporter-otlp\`; \`java -cp 'jars/*' ${file}\` runs it`;
/** Node takes a file for a module, which may import and await, by its ending. */
const saved = (file: string): string => `saved as \`${file}\`, \`node ${file}\` runs it`;
const javascriptPackages = (file: string, sdk: string, exporter: string, others = ''): string =>
  `${others}\`@opentelemetry/${sdk}\` 3, \`@opentelemetry/resources\` and \`@opentelemetry/${exporter}\`; ${saved(file)}`;
/** Whose logger prints what was refused; the SDK of spans throws it. */
const javascriptApi = '`@opentelemetry/api`, ';
const pythonPackages = (file: string): string =>
  `\`opentelemetry-sdk\` and \`opentelemetry-exporter-otlp-proto-http\`; \`python3 ${file}\` runs it`;

/** Every snippet, in the order of the documents: the documents and the admin API show these texts and no others. */
export const snippets: readonly Snippet[] = [
  push('curl', 'curl', 'sh', 'curl.sh'),
  push('python', 'Python', 'python', 'push.py', 'Python 3; `python3 push.py` runs it'),
  push('javascript', 'JavaScript', 'js', 'push.mjs', `Node.js 18 or newer; ${saved('push.mjs')}`),
  push('go', 'Go', 'go', 'push.go', 'Go; `go run push.go` runs it'),
  push('java', 'Java', 'java', 'Push.java', 'Java 17 or newer; `java Push.java` runs it'),
  push('telegraf', 'Telegraf', 'toml', 'telegraf.conf', 'in `telegraf.conf`, beside its inputs'),
  spans('curl', 'curl', 'sh', 'curl.sh'),
  spans(
    'variables',
    'Any OpenTelemetry SDK or agent',
    'sh',
    'variables.sh',
    'in the environment of the program',
  ),
  {
    ...spans(
      'variables-grpc',
      'Any OpenTelemetry SDK or agent, over gRPC',
      'sh',
      'variables-grpc.sh',
      'in the environment of the program',
    ),
    isGrpc: true,
  },
  spans(
    'collector',
    'OpenTelemetry Collector',
    'yaml',
    'collector.yaml',
    'a Collector with the extension `file_storage`, as `otelcol-contrib`, beside your file with the receiver `otlp`: `otelcol-contrib --config receivers.yaml --config collector.yaml`; and a folder that its user can write: with the package `sudo install -d -o otelcol-contrib /var/lib/otelcol/tidemark`, in a container a volume at that path, of user 10001 in the official image',
  ),
  spans('python', 'Python', 'python', 'spans.py', pythonPackages('spans.py')),
  spans(
    'javascript',
    'JavaScript',
    'js',
    'spans.mjs',
    javascriptPackages('spans.mjs', 'sdk-trace', 'exporter-trace-otlp-proto'),
  ),
  spans('go', 'Go', 'go', 'spans.go', goModule('spans.go')),
  spans('java', 'Java', 'java', 'Spans.java', javaPackages('Spans.java')),
  records('curl-logs', 'curl, a log record', 'sh', 'curl.sh'),
  records('python-logs', 'Python, log records', 'python', 'records.py', pythonPackages('records.py')),
  records(
    'javascript-logs',
    'JavaScript, log records',
    'js',
    'records.mjs',
    javascriptPackages('records.mjs', 'sdk-logs', 'exporter-logs-otlp-proto', javascriptApi),
  ),
  records('go-logs', 'Go, log records', 'go', 'records.go', goModule('records.go')),
  records('java-logs', 'Java, log records', 'java', 'Records.java', javaPackages('Records.java')),
  dataPoints('curl-metrics', 'curl, a data point', 'sh', 'curl.sh'),
  dataPoints('python-metrics', 'Python, data points', 'python', 'points.py', pythonPackages('points.py')),
  dataPoints(
    'javascript-metrics',
    'JavaScript, data points',
    'js',
    'points.mjs',
    javascriptPackages('points.mjs', 'sdk-metrics', 'exporter-metrics-otlp-proto', javascriptApi),
  ),
  dataPoints('go-metrics', 'Go, data points', 'go', 'points.go', goModule('points.go')),
  dataPoints('java-metrics', 'Java, data points', 'java', 'Points.java', javaPackages('Points.java')),
];

/** The text of a snippet with its example values. */
export const readSnippet = (schemasFolder: string, { file }: Snippet): string =>
  readFileSync(join(schemasFolder, 'snippets', file), 'utf8');

/** The values of a snippet. Each is free of quotes and of anything that a shell obeys. */
export type SnippetValues = {
  /** Addresses without a slash at the end. */
  readonly push: string;
  readonly otlp: string;
  readonly grpc?: string | undefined;
  readonly dataId?: number | undefined;
  readonly token?: string | undefined;
};

/** Stands in a snippet that is shown without its token. */
export const tokenPlaceholder = '<token>';

const examples = /http:\/\/127\.0\.0\.1:10205|http:\/\/127\.0\.0\.1:431[78]|1500002|<token>/g;

/** The text with these values in the place of the example ones; a value that is not given stays the example. */
export const fillSnippet = (text: string, { push, otlp, grpc, dataId, token }: SnippetValues): string => {
  const values: Readonly<Record<string, string | undefined>> = {
    'http://127.0.0.1:10205': push,
    'http://127.0.0.1:4318': otlp,
    'http://127.0.0.1:4317': grpc,
    '1500002': dataId === undefined ? undefined : String(dataId),
    [tokenPlaceholder]: token,
  };
  return text.replace(examples, (example) => values[example] ?? example);
};
