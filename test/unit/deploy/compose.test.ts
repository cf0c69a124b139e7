import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { createProgram } from '../../../src/cli/program.ts';
import { loadSettings, settingDefinitions } from '../../../src/config/settings.ts';
import { versions } from '../../../src/embedded/versions.ts';
import {
  composeText,
  filledEnvironment,
  neededVariables,
  service,
  services,
  volumes,
} from '../../support/deploy/compose.ts';
import { deployFolder } from '../../support/deploy/dashboards.ts';
import { dockerfileStages } from '../../support/deploy/dockerfile.ts';
import { tempFolder } from '../../support/stack/temp-folder.ts';

const roles = ['ingress', 'transfer', 'metadata'] as const;
const settings = loadSettings({});

const containerPorts = (name: string): number[] =>
  service(name).ports.map((port) => Number(port.split(':').at(-1)));

describe('the compose stack', () => {
  it('names every image by an exact version, those of the engines as they are tested', () => {
    const images = Object.values(services).map(({ image }) => image);
    expect(images.filter((image) => !/^[\w./-]+:v?\d+\.\d+\.\d+/.test(image))).toEqual([]);
    expect(service('nats').image).toBe(`nats:${versions.nats}-alpine`);
    expect(service('questdb').image).toBe(`questdb/questdb:${versions.questdb}`);
    expect(service('clickhouse').image).toContain(`:${versions.clickhouse}.`);
    const prometheusModule = readFileSync(
      join(import.meta.dirname, '../../deploy/prometheus/go.mod'),
      'utf8',
    );
    const prometheus = /prometheus\/prometheus v0\.(\d)(\d+)\.(\d+)/.exec(prometheusModule);
    expect(service('prometheus').image).toBe(
      `prom/prometheus:v${prometheus?.[1]}.${Number(prometheus?.[2])}.${prometheus?.[3]}`,
    );
    const node = /"node": "([\d.]+)"/.exec(readFileSync(join(deployFolder, '../package.json'), 'utf8'))?.[1];
    expect(readFileSync(join(deployFolder, 'Dockerfile'), 'utf8')).toContain(`NODE_IMAGE=node:${node}-`);
  });

  it('gives the roles only settings that there are, with values that can be used', () => {
    const known = new Set(settingDefinitions.map(({ env }) => env));
    for (const role of [...roles, 'migrate', 'operator', 'backup']) {
      const environment = filledEnvironment(role);
      expect(Object.keys(environment).filter((name) => !known.has(name))).toEqual([]);
      const { nats, questdb, clickhouse } = loadSettings(environment);
      const own = filledEnvironment;
      const user = role === 'backup' ? 'operator' : role;
      const password = own('nats')[`NATS_${user.toUpperCase()}_PASSWORD`]?.slice(1, -1);
      expect([nats.url, questdb.url, clickhouse.url]).toEqual([
        // Each as its own user of NATS; migrate as none.
        role === 'migrate' ? undefined : `nats://${user}:${password}@nats:4222`,
        `http://tidemark:${own('questdb')['QDB_HTTP_PASSWORD']}@questdb:9000`,
        `http://tidemark:${own('clickhouse')['CLICKHOUSE_PASSWORD']}@clickhouse:8123`,
      ]);
      expect(service(role).command?.[0]).toBe(role === 'operator' ? '--help' : role);
    }
  });

  it('publishes the ports of the settings, and everything on loopback', () => {
    const own = settings.ingress;
    expect(containerPorts('ingress')).toEqual([own.pushPort, own.otlpPort, own.grpcPort, own.opsPort]);
    expect(containerPorts('transfer')).toEqual([settings.transfer.opsPort]);
    expect(containerPorts('metadata')).toEqual([settings.metadata.apiPort, settings.metadata.opsPort]);
    const published = Object.values(services).flatMap(({ ports }) => ports);
    expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    const exposed = dockerfileStages()
      .at(-1)
      ?.instructions.find(({ keyword }) => keyword === 'EXPOSE')?.rest;
    // Sessions of the console are in plain text at such a port: its gateway counts as this machine only while it is on loopback.
    expect(filledEnvironment('metadata')['TIDEMARK_CONSOLE_LOCAL_PEERS']).toBe('gateway');
    const { ingress, transfer, metadata } = settings;
    expect(exposed?.split(' ').map(Number)).toEqual([
      ingress.pushPort,
      ingress.otlpPort,
      ingress.grpcPort,
      metadata.apiPort,
      ingress.opsPort,
      transfer.opsPort,
      metadata.opsPort,
    ]);
  });

  it('publishes a port of its own for each of several transfers, that nothing else has', () => {
    const hostPorts = (port: string): number[] => {
      const [first = 0, last = first] = (port.split(':').at(-2) ?? '').split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    };
    const own = service('transfer').ports.flatMap(hostPorts);
    expect(own.length).toBeGreaterThan(2);
    const others = Object.entries(services).flatMap(([name, { ports }]) =>
      name === 'transfer' ? [] : ports,
    );
    expect(others.flatMap(hostPorts).filter((port) => own.includes(port))).toEqual([]);
  });

  // Of two stacks with the same ports the second one does not start.
  it('lets every port of the machine be another one, by a variable that the guide names', () => {
    const variables = [...composeText.matchAll(/"127\.0\.0\.1:\$\{(\w+):-([\d-]+)\}:\d+"/g)].map(
      ([, name, value]) => `\`${name}\` ${value}`,
    );
    const published = Object.values(services).flatMap(({ ports }) => ports);
    expect(new Set(variables).size).toBe(published.length);
    const guide = readFileSync(join(deployFolder, '../docs/operations.md'), 'utf8');
    expect(variables.filter((variable) => !guide.includes(variable))).toEqual([]);
    const known = settingDefinitions.map(({ env }) => env);
    expect(known.filter((name) => name.startsWith('HOST_'))).toEqual([]);
  });

  it('scrapes each role on its operations port and the databases, under the jobs of the alarms', () => {
    const config = z
      .looseObject({
        scrape_configs: z.array(
          z.looseObject({
            job_name: z.string(),
            dns_sd_configs: z
              .tuple([z.looseObject({ names: z.array(z.string()), port: z.int() })])
              .optional(),
            static_configs: z.tuple([z.looseObject({ targets: z.array(z.string()) })]).optional(),
          }),
        ),
      })
      .parse(parse(readFileSync(join(deployFolder, 'prometheus/prometheus.yaml'), 'utf8')));
    expect(
      config.scrape_configs.map(({ job_name: job, dns_sd_configs: names, static_configs: fixed }) => [
        job,
        names === undefined
          ? fixed?.[0].targets
          : names[0].names.map((name) => `${name} at ${names[0].port}`),
      ]),
    ).toEqual([
      // One address for each replica. With none, TidemarkRoleMissing asks for the job.
      ...roles.map((role) => [`tidemark-${role}`, [`${role} at ${settings[role].opsPort}`]]),
      // Where the images have their own metrics. A fixed target stays, with `up` 0, when its container and its name are gone.
      ['questdb', ['questdb:9003']],
      ['clickhouse', ['clickhouse:9363']],
    ]);
  });

  it('starts each service once its dependencies are healthy, and has a check of each', () => {
    for (const [name, { depends_on: needs, healthcheck }] of Object.entries(services)) {
      for (const [needed, { condition }] of Object.entries(needs)) {
        if (condition === 'service_healthy') {
          expect(service(needed).healthcheck, `${name} needs ${needed}`).toBeDefined();
        }
      }
      expect(healthcheck, name).toBeDefined();
    }
    expect(Object.keys(service('transfer').depends_on)).toEqual(['nats', 'questdb', 'migrate']);
    // It has to see a role that is not ready.
    expect(service('prometheus').depends_on).toEqual({});
  });

  // One that lives and takes nothing is not what `up --wait` waits for.
  it('calls a role healthy when it can do its work', () => {
    for (const role of roles)
      expect(service(role).healthcheck?.['test'], role).toEqual([
        'CMD',
        'node',
        'deploy/healthcheck.mjs',
        '--ready',
      ]);
    const own = dockerfileStages()
      .at(-1)
      ?.instructions.find(({ keyword }) => keyword === 'HEALTHCHECK')?.rest;
    expect(own).not.toContain('--ready');
  });

  it('bounds the log of each container, and gives the engines the time to end', () => {
    for (const [name, { logging }] of Object.entries(services))
      expect(logging, name).toEqual({
        driver: 'json-file',
        options: { 'max-size': '16m', 'max-file': '4' },
      });
    for (const name of ['nats', 'questdb', 'clickhouse'])
      expect(service(name).stop_grace_period, name).toBe('60s');
    // Each write is a line at its default.
    expect(service('questdb').environment['QDB_LOG_W_STDOUT_LEVEL']).toBe('ADVISORY,ERROR,CRITICAL');
  });

  // The image has /data as a volume: each `down` would leave one without a name.
  it('has one mount at the data folder of each container of the image', () => {
    for (const [name, { image, tmpfs, volumes: mounts }] of Object.entries(services)) {
      if (image !== service('ingress').image) continue;
      const places = [...tmpfs, ...mounts.map((mount) => mount.split(':')[1])];
      expect(
        places.filter((place) => place === '/data'),
        name,
      ).toHaveLength(1);
    }
  });

  it('runs the roles with a root that cannot be written, and gives them time to drain', () => {
    for (const role of roles) {
      expect(service(role)).toMatchObject({ read_only: true, stop_grace_period: '60s' });
    }
    for (const other of ['nats', 'prometheus', 'operator']) expect(service(other).read_only).toBe(true);
  });

  // A budget of a stream is raised while the stack runs, and the root of an image cannot be written.
  it('gives the roles and the operator the pipelines of the repository, where a setting names them', () => {
    const named = Object.entries(services).flatMap(([name, { environment, volumes: mounts }]) => {
      const folder = environment['TIDEMARK_PIPELINES'];
      return folder === undefined ? [] : [{ name, isThere: mounts.includes(`../pipelines:${folder}:ro`) }];
    });
    expect(named.filter(({ isThere }) => !isThere)).toEqual([]);
    expect(named.map(({ name }) => name).toSorted()).toEqual(
      [...roles, 'migrate', 'operator', 'backup'].toSorted(),
    );
  });

  // The files of a database belong to a user of its own, and no other one reads both.
  it('backs up both databases as root, each from its volume, with commands of the program', async () => {
    const { command = [], user, volumes: mounts, cap_add: rights, profiles } = service('backup');
    expect([user, rights, profiles]).toEqual(['0:0', ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'], ['operator']]);
    const folder = (name: string): string | undefined =>
      service(name).volumes.find((mount) => mount.startsWith(`${name}:`));
    for (const name of ['questdb', 'clickhouse', 'metadata']) expect(mounts).toContain(folder(name));
    expect(command).toContain('--questdb-root=/var/lib/questdb');
    expect(command).toContain('--clickhouse-files=/var/lib/clickhouse/backups');
    const program = await createProgram();
    const known = program.commands.find((each) => each.name() === 'backup')?.options.map(({ long }) => long);
    expect(command.slice(1).filter((option) => !known?.includes(option.split('=')[0]))).toEqual([]);
  });

  it('gives the operator the data folder of metadata, in which admin-token reset writes', () => {
    const folder = (name: string): string | undefined =>
      service(name).volumes.find((mount) => mount.startsWith('metadata:'));
    expect(folder('operator')).toBe('metadata:/data');
    expect(folder('metadata')).toBe('metadata:/data');
  });

  // A user without its rights in the file would have all of them.
  it('gives NATS the users of the roles with their rights', () => {
    expect(service('nats').volumes).toContain('./nats:/etc/nats:ro');
    const text = readFileSync(join(deployFolder, 'nats/nats.conf'), 'utf8');
    expect(text).toMatch(/^include "users\.conf"$/m);
    expect(text).not.toContain('authorization');
  });

  it('lets no container gain rights', () => {
    for (const [name, { cap_drop: dropped, security_opt: options }] of Object.entries(services)) {
      expect([dropped, options], name).toEqual([['ALL'], ['no-new-privileges:true']]);
    }
  });

  // A default password is public.
  it('starts only with the passwords that its script makes, which stay once they exist', async () => {
    expect(
      composeText.replaceAll(/\$\{(?:HOST_PORTS?_\w+:-[\d-]+|BACKUP_FOLDER:-[./\w]+)\}/g, ''),
    ).not.toMatch(/\$\{?\w+(?:\}|:?-)/);
    const literals = Object.values(services).flatMap(({ environment }) =>
      Object.entries(environment).filter(([name, value]) => /PASSWORD/.test(name) && !value.includes('${')),
    );
    expect(literals).toEqual([]);
    const folder = await tempFolder();
    const script = join(folder, 'passwords.sh');
    copyFileSync(join(deployFolder, 'passwords.sh'), script);
    const make = (): string => {
      execFileSync('sh', [script]);
      return readFileSync(join(folder, '.env'), 'utf8');
    };
    const made = make();
    expect(made.match(/^\w+(?==[0-9a-f]{32}$)/gm)?.toSorted()).toEqual(neededVariables.toSorted());
    expect(new Set(made.match(/=.+/g)).size).toBe(neededVariables.length);
    expect(statSync(join(folder, '.env')).mode & 0o777).toBe(0o600);
    expect(make()).toBe(made);
    writeFileSync(join(folder, '.env'), made.replace(/^GRAFANA.*\n/m, ''));
    expect(make().match(/^\w+/gm)?.toSorted()).toEqual(neededVariables.toSorted());
    // Editors and `printf` leave the last line without its end.
    writeFileSync(join(folder, '.env'), made.replace(/^GRAFANA.*\n/m, '').trimEnd());
    expect(make().match(/^\w+_PASSWORD=[0-9a-f]{32}$/gm)).toHaveLength(neededVariables.length);
  });

  // Its next `up` would take over the containers and volumes of the other one, with other passwords.
  it('makes no passwords where another folder has a stack of this name, until a name or passwords are given', async () => {
    const folder = await tempFolder();
    const [script, file] = [join(folder, 'passwords.sh'), join(folder, '.env')];
    copyFileSync(join(deployFolder, 'passwords.sh'), script);
    const make = (foundIn: string): void => {
      writeFileSync(join(folder, 'docker'), `#!/bin/sh\necho '${foundIn}'\n`, { mode: 0o755 });
      const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}` };
      execFileSync('sh', [script], { env, stdio: 'pipe' });
    };
    expect(() => make('/srv/tidemark/deploy')).toThrow(
      /stack.*\/srv\/tidemark\/deploy[\s\S]*COMPOSE_PROJECT_NAME/,
    );
    expect(existsSync(file)).toBe(false);
    make(folder);
    rmSync(file);
    make('');
    writeFileSync(file, 'COMPOSE_PROJECT_NAME=second\n');
    make('/srv/tidemark/deploy');
    expect(readFileSync(file, 'utf8')).toMatch(/^COMPOSE_PROJECT_NAME=second\nNATS_INGRESS_PASSWORD=/);
  });

  it('closes a .env that was there to others alone, and keeps the passwords of its `export` lines', async () => {
    const folder = await tempFolder();
    const [script, file] = [join(folder, 'passwords.sh'), join(folder, '.env')];
    copyFileSync(join(deployFolder, 'passwords.sh'), script);
    writeFileSync(file, '  export QUESTDB_PASSWORD=mine\n');
    chmodSync(file, 0o664);
    execFileSync('sh', [script]);
    expect(statSync(file).mode & 0o777).toBe(0o660);
    expect(readFileSync(file, 'utf8').match(/QUESTDB_PASSWORD=.*/g)).toEqual(['QUESTDB_PASSWORD=mine']);
  });

  // Only the owner of a file may change its mode, and a colleague of the group upgrades, too.
  it('adds the passwords that an upgrade needs to a .env of another user, and says that it did not close it', async () => {
    const folder = await tempFolder();
    const [script, file] = [join(folder, 'passwords.sh'), join(folder, '.env')];
    copyFileSync(join(deployFolder, 'passwords.sh'), script);
    writeFileSync(file, 'QUESTDB_PASSWORD=mine\n');
    writeFileSync(join(folder, 'chmod'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}` };
    const { status, stderr } = spawnSync('sh', [script], { env, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, expect.stringMatching(/^passwords\.sh: .*chmod o= \S+\.env\n$/)]);
    const made = readFileSync(file, 'utf8').match(/^\w+(?=_PASSWORD=.)/gm);
    expect(made?.map((name) => `${name}_PASSWORD`).toSorted()).toEqual(neededVariables.toSorted());
  });

  it('gives Grafana the users that only read', () => {
    const { QUESTDB_PG_USER, CLICKHOUSE_USER } = service('grafana').environment;
    expect([QUESTDB_PG_USER, CLICKHOUSE_USER]).toEqual(['readonly', 'readonly']);
    const { QDB_PG_READONLY_USER } = service('questdb').environment;
    expect(QDB_PG_READONLY_USER).toBe(QUESTDB_PG_USER);
  });

  // A file that is mounted by itself stays the old one when git renames a new one into its place: a reload reads the old one again.
  it('mounts folders, and files only beside those of an image, which a restart reads', () => {
    const mounted = Object.values(services)
      .flatMap(({ volumes: mounts }) => mounts.map((mount) => mount.split(':')[0] ?? ''))
      .filter((source) => source.startsWith('.') && !statSync(join(deployFolder, source)).isDirectory());
    expect(mounted).toEqual(['./clickhouse/users.xml', './clickhouse/metrics.xml']);
  });

  it('mounts only existing files', () => {
    for (const { volumes: mounts } of Object.values(services)) {
      for (const mount of mounts) {
        const [source = ''] = mount.split(':');
        // Docker makes the folder of backups.
        if (mount.endsWith(':-./backup}:/backup')) continue;
        const isThere = source.startsWith('.')
          ? existsSync(join(deployFolder, source))
          : Object.hasOwn(volumes, source);
        expect(isThere, mount).toBe(true);
      }
    }
  });

  it('gives Grafana every variable that its sources name', () => {
    const sources = readFileSync(
      join(deployFolder, 'grafana/provisioning/datasources/tidemark.yaml'),
      'utf8',
    );
    const named = [...sources.matchAll(/\$([A-Z_]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !Object.hasOwn(service('grafana').environment, name))).toEqual([]);
  });

  // The engines of the stack have to behave as those of the tests.
  it('sets NATS and QuestDB as the embedded ones are set where it matters', () => {
    const nats = readFileSync(join(deployFolder, 'nats/nats.conf'), 'utf8');
    const embedded = readFileSync(join(import.meta.dirname, '../../../src/embedded/nats.ts'), 'utf8');
    for (const line of ['max_payload: 8MB', 'max_memory_store: 64MB']) {
      expect(nats).toContain(line);
      expect(embedded).toContain(line);
    }
    expect(service('questdb').environment).toMatchObject({
      QDB_LINE_AUTO_CREATE_NEW_TABLES: 'false',
      QDB_LINE_AUTO_CREATE_NEW_COLUMNS: 'true',
    });
    const questdb = readFileSync(join(import.meta.dirname, '../../../src/embedded/questdb.ts'), 'utf8');
    const pace = Object.entries<string>(service('questdb').environment).filter(([name]) =>
      name.startsWith('QDB_WAL_APPLY_WORKER_'),
    );
    expect(pace).toHaveLength(4);
    const others = [
      'QDB_LOG_W_STDOUT_LEVEL',
      'QDB_EXPORT_WORKER_COUNT',
      'QDB_CAIRO_SQL_COPY_EXPORT_ROOT',
      'QDB_PG_WORKER_COUNT',
    ];
    for (const [name, value] of [
      ...pace,
      ...others.map((name) => [name, service('questdb').environment[name]]),
    ])
      expect(questdb).toContain(`${name}: '${value}'`);
  });
});
