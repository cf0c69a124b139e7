import type { Demo } from './demo.ts';
import { withoutAccount } from './installation.ts';
import type { StackPlan } from './stack.ts';
import { curlFile } from './up-files.ts';

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A push of one point; the shell puts the time of the moment in, so that it can be pasted at any time. */
const pushCommand = (pushUrl: string, { report }: Demo): string => {
  const point = {
    metrics: { cpu_load: 10 },
    target: '127.0.0.1',
    dimension: { module: 'db', location: 'guangdong' },
    timestamp: 0,
  };
  const body = JSON.stringify({ data_id: report.dataId, access_token: report.token, data: [point] });
  const timed = shellQuoted(body).replace('"timestamp":0', `"timestamp":'"$(date +%s)"'000`);
  return `curl -s ${pushUrl} -d ${timed}`;
};

/** curl with the credentials of an engine, which stay in their file. */
const curlTo = (dataFolder: string, engine: 'questdb' | 'clickhouse'): string =>
  `curl -s -K ${shellQuoted(curlFile(dataFolder, engine))}`;

const pointsQuery = (curl: string, questdbUrl: string, { report }: Demo): string => {
  const sql = `SELECT * FROM "${report.table}" ORDER BY timestamp DESC LIMIT 5`;
  return `${curl} -G ${shellQuoted(`${questdbUrl}/exec`)} --data-urlencode ${shellQuoted(`query=${sql}`)}`;
};

/** A span whose ids and times are of the moment of pasting: each paste is a new request. */
const spanCommand = (tracesUrl: string, { application }: Demo): string => {
  const span = {
    traceId: 'TRACE',
    spanId: 'SPAN',
    name: 'GET /cart',
    kind: 2,
    startTimeUnixNano: 'NOW',
    endTimeUnixNano: 'NOW',
    attributes: [{ key: 'http.route', value: { stringValue: '/cart' } }],
    status: { code: 1 },
  };
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] };
  const body = { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'demo' }, spans: [span] }] }] };
  const random = (bytes: number): string => `'"$(od -An -N${bytes} -tx1 /dev/urandom | tr -d ' \\n')"'`;
  const filled = shellQuoted(JSON.stringify(body))
    .replace('TRACE', random(16))
    .replace('SPAN', random(8))
    .replaceAll('NOW', `'"$(date +%s)"'000000000`);
  return `curl -s ${tracesUrl} -H 'Content-Type: application/json' -H 'X-MON-TOKEN: ${application.token}' -d ${filled}`;
};

const spansQuery = (curl: string, clickhouseUrl: string): string => {
  const sql =
    'SELECT Timestamp, TraceId, ServiceName, SpanName, Duration FROM otel.otel_traces ORDER BY Timestamp DESC LIMIT 5 FORMAT PrettyCompact';
  return `${curl} ${shellQuoted(`${clickhouseUrl}/`)} --data ${shellQuoted(sql)}`;
};

type Section = [title: string, lines: string[]];

const printed = (sections: readonly Section[]): string =>
  sections.map(([title, lines]) => [title, ...lines.map((line) => `  ${line}`)].join('\n')).join('\n\n');

type Addresses = Readonly<
  Record<'pushUrl' | 'tracesUrl' | 'questdbUrl' | 'clickhouseUrl' | 'dataFolder', string>
>;

const demoSections = (
  demo: Demo,
  { pushUrl, tracesUrl, questdbUrl, clickhouseUrl, dataFolder }: Addresses,
): Section[] => {
  const { report, application } = demo;
  return [
    [
      'Credentials of the demo',
      [
        `custom report ${report.name} of business ${report.bizId}: data_id ${report.dataId}, access_token ${report.token}`,
        `application ${application.name} of business ${application.bizId}: X-MON-TOKEN ${application.token}`,
      ],
    ],
    ['Push a point', [pushCommand(pushUrl, demo)]],
    ['Read the points', [pointsQuery(curlTo(dataFolder, 'questdb'), questdbUrl, demo)]],
    ['Export a span', [spanCommand(tracesUrl, demo)]],
    ['Read the spans', [spansQuery(curlTo(dataFolder, 'clickhouse'), clickhouseUrl)]],
  ];
};

/** The output of `tidemark up` once everything is ready: addresses, credentials, commands that work as pasted. */
export const summarise = (
  { roleHost, adminUrl, urls, ports }: StackPlan,
  demo: Demo | undefined,
  dataFolder: string,
  consoleLink: string | undefined,
): string => {
  const at = (port: { port: number }): string => `http://${roleHost}:${port.port}`;
  const pushUrl = `${at(ports.push)}/v2/push/`;
  const tracesUrl = `${at(ports.otlp)}/v1/traces`;
  const questdbUrl = withoutAccount(urls.questdb);
  const clickhouseUrl = withoutAccount(urls.clickhouse);
  const sections: Section[] = [
    [
      'Tidemark is ready',
      [
        `push metrics     ${pushUrl}`,
        `export traces    ${tracesUrl} (OTLP/HTTP, JSON or protobuf)`,
        ...(consoleLink === undefined
          ? []
          : [
              `console          ${consoleLink}`,
              '                 (logs in once, within a minute; tidemark console prints another link)',
            ]),
        `admin API        ${adminUrl} (bearer token in ${dataFolder}/admin.token)`,
        `QuestDB          ${questdbUrl}`,
        `ClickHouse       ${clickhouseUrl}`,
        `NATS             ${withoutAccount(urls.nats)}`,
        'users and passwords of the engines: tidemark env',
        `state and metrics of each role: /readyz and /metrics on ${at(ports.ingressOps)} (ingress), ` +
          `${at(ports.transferOps)} (transfer), ${at(ports.metadataOps)} (metadata)`,
      ],
    ],
    ...(demo === undefined
      ? []
      : demoSections(demo, { pushUrl, tracesUrl, questdbUrl, clickhouseUrl, dataFolder })),
    ['Ctrl-C stops everything in order', []],
  ];
  return printed(sections);
};

/** The output of `tidemark up --engines-only`. */
export const summariseEngines = ({ urls }: StackPlan): string =>
  printed([
    [
      'The engines are ready, without the roles',
      [
        `QuestDB          ${withoutAccount(urls.questdb)}`,
        `ClickHouse       ${withoutAccount(urls.clickhouse)}`,
        `NATS             ${withoutAccount(urls.nats)}`,
        'users and passwords of the engines: tidemark env',
      ],
    ],
    ['Ctrl-C stops everything in order', []],
  ]);
