import { realpathSync } from 'node:fs';
import { delimiter, join, relative, resolve } from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { Demo, Greeting } from './demo.ts';
import { withoutAccount } from './installation.ts';
import type { StackPlan } from './stack.ts';

const programFolder = resolve(import.meta.dirname, '../..');

/** A file of the program, by the shorter of its paths from this folder and from the root. */
const shown = (file: string): string => {
  const path = join(programFolder, file);
  const near = relative(process.cwd(), path);
  return near.length < path.length ? near : path;
};

/** In quotes for a shell, of which no character is obeyed. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const defaultAdminUrl = 'http://127.0.0.1:10300';

const realPath = (file: string): string | undefined => {
  try {
    return realpathSync(file);
  } catch {
    return undefined;
  }
};

/** Whether another terminal finds `tidemark`: npm has put a link to it into a folder of PATH. */
const isInstalled = (path: string): boolean => {
  const own = join(programFolder, 'bin');
  const program = realPath(join(own, 'tidemark'));
  return path
    .split(delimiter)
    .some((folder) => folder !== own && realPath(join(folder, 'tidemark')) === program);
};

/** What a terminal in any folder sets for the commands of the summary: where the program is, unless it is installed, and the data. */
const variablesLine = (adminUrl: string, dataFolder: string, path: string): string => {
  const program = isInstalled(path) ? [] : [`PATH=${shellQuoted(join(programFolder, 'bin'))}:"$PATH"`];
  const address = adminUrl === defaultAdminUrl ? [] : [`TIDEMARK_ADMIN_URL=${adminUrl}`];
  return ['export', ...program, `TIDEMARK_DATA=${shellQuoted(dataFolder)}`, ...address].join(' ');
};

/** The databases that run here, with the user that only reads. */
const databases = ({ urls, ports, engineHost, enginePorts }: StackPlan): string[] => {
  const questdb = withoutAccount(urls.questdb);
  const clickhouse = withoutAccount(urls.clickhouse);
  const ownQuestdb = `${questdb} (web console, user readonly), Postgres wire ${engineHost}:${ports.questdbPg.port}`;
  return [
    `QuestDB          ${enginePorts.includes(ports.questdbHttp) ? ownQuestdb : questdb}`,
    `ClickHouse       ${enginePorts.includes(ports.clickhouseHttp) ? `${clickhouse} (user readonly)` : clickhouse}`,
  ];
};

type Section = [title: string, lines: string[]];

const printed = (sections: readonly Section[]): string =>
  sections.map(([title, lines]) => [title, ...lines.map((line) => `  ${line}`)].join('\n')).join('\n');

const last: Section = ['Ctrl-C stops everything in order', []];

const demoSections = ({ report, application }: Demo): Section[] => [
  [
    'Credentials of the demo',
    [
      `report ${report.name}: data_id ${report.dataId}, access_token ${report.token}`,
      `application ${application.name}: X-MON-TOKEN ${application.token}`,
    ],
  ],
  ['Push a point', [`tidemark snippet ${report.dataId} --for curl --token | sh`]],
  ['Read the points', [`tidemark query points --data-id ${report.dataId} --metric cpu_load --raw`]],
  ['Export a span', [`tidemark snippet ${application.appId} --app --for curl --token | sh`]],
  ['Read the spans', ['tidemark query traces']],
];

/**
 * What `tidemark up` prints once everything is ready: a screen of addresses, and of commands that work as pasted. Without the demo
 * there are no commands.
 */
export const summarise = (
  plan: StackPlan,
  { demo, link, missing }: Greeting,
  { dataFolder, links }: Pick<Settings, 'dataFolder' | 'links'>,
  path = process.env.PATH ?? '',
): string => {
  const { receiverOrigin, adminUrl, ports } = plan;
  const at = (port: { port: number }): string => `${receiverOrigin}:${port.port}`;
  const console = ['console          logs in once, within a minute; tidemark console prints another link'];
  return printed([
    [
      'Tidemark is ready',
      [
        ...(link === undefined ? [] : [...console, link]),
        ...(missing === undefined ? [] : [`console          ${missing}`]),
        `push metrics     ${at(ports.push)}/v2/push/`,
        `export OTLP      ${at(ports.otlp)} (HTTP)${ports.grpc === undefined ? '' : `, ${at(ports.grpc)} (gRPC)`}: traces, logs, metrics`,
        `admin API        ${adminUrl} (bearer token in admin.token of the data folder)`,
        ...databases(plan),
        `Grafana          ${links.grafana ?? `sh ${shown('deploy/grafana/run.sh')} starts one, with both databases (Docker)`}`,
        `passwords        tidemark env prints those of the engines; ${shown('docs/querying.md')} has queries`,
      ],
    ],
    ['In another terminal', [variablesLine(adminUrl, dataFolder, path)]],
    ...(demo === undefined ? [] : demoSections(demo)),
    last,
  ]);
};

/** The output of `tidemark up --engines-only`. */
export const summariseEngines = (plan: StackPlan): string =>
  printed([
    [
      'The engines are ready, without the roles',
      [
        ...databases(plan),
        `NATS             ${withoutAccount(plan.urls.nats)}`,
        'passwords        tidemark env prints those of the engines',
      ],
    ],
    last,
  ]);
