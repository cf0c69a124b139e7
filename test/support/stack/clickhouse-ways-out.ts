import type { Outside } from './outside.ts';

/** Names of all that this server has of a kind. */
export type ClickhouseNames = Readonly<
  Record<'tableFunctions' | 'tableEngines' | 'databaseEngines' | 'functions', readonly string[]>
>;

/** Functions that wait, or end their statement. */
const unhelpful = /^(sleep|sleepEachRow|throwIf)$/i;

const tableFunctionsOut = (names: readonly string[], { folder, files, server }: Outside): string[] => {
  const url = `http://${server}`;
  const forms = [
    `'${files.text}','LineAsString'`,
    `'${files.text}'`,
    `LineAsString, '${files.text}'`,
    `'${folder}/made.db','t'`,
    `'${folder}'`,
    `'cat ${files.text}','LineAsString','a String'`,
    `'${url}/x','LineAsString'`,
    `'${url}/x','TSV','a String'`,
    `'${server}','d','t','u','p'`,
    `'${server}', d, t`,
    `'cl','${url}/x','LineAsString','a String'`,
    `'mongodb://${server}/d','c','a String'`,
    `'hdfs://${server}/x','LineAsString','a String'`,
    `'DefaultEndpointsProtocol=http;AccountName=a;AccountKey=YQ==;BlobEndpoint=${url}/a;','c','b','LineAsString','auto','a String'`,
  ];
  return names.flatMap((name) =>
    forms.flatMap((form) => [
      `SELECT * FROM \`${name}\`(${form}) LIMIT 5`,
      `INSERT INTO FUNCTION \`${name}\`(${form}) SELECT 'written'`,
    ]),
  );
};

const enginesOut = (
  { tableEngines, databaseEngines }: ClickhouseNames,
  { folder, files, server }: Outside,
): string[] => {
  const tables = [
    `(LineAsString, '${files.text}')`,
    `(LineAsString, '${folder}/made.txt')`,
    `('${folder}/made.db', 't')`,
    `(0, '${folder}/rocks')`,
    `('http://${server}/x', 'LineAsString')`,
    `('${server}', 'd', 't', 'u', 'p')`,
    `('cat ${files.text}', 'LineAsString')`,
    ` SETTINGS nats_url = '${server}', nats_subjects = 's', nats_format = 'JSONEachRow'`,
    ` SETTINGS kafka_broker_list = '${server}', kafka_topic_list = 't', kafka_group_name = 'g', kafka_format = 'JSONEachRow'`,
  ];
  const databases = [
    `('${folder}')`,
    `('${folder}/made.db')`,
    `('http://${server}/')`,
    `('${server}','d','u','p')`,
  ];
  return [
    ...tableEngines.flatMap((engine) =>
      tables.flatMap((form) => [
        `CREATE TABLE trial.made (c String) ENGINE = ${engine}${form}`,
        `CREATE TEMPORARY TABLE made (c String) ENGINE = ${engine}${form}`,
      ]),
    ),
    ...databaseEngines.flatMap((engine) =>
      databases.map((form) => `CREATE DATABASE made_${engine} ENGINE = ${engine}${form}`),
    ),
  ];
};

const dictionariesOut = ({ files, server }: Outside): string[] => {
  const [host, port] = server.split(':');
  const at = `host '${host}' port ${port} user 'u' password 'p' db 'd'`;
  const sources = [
    `FILE(path '${files.csv}' format 'CSV')`,
    `HTTP(url 'http://${server}/x' format 'CSV')`,
    `CLICKHOUSE(${at} table 't')`,
    `MYSQL(${at} table 't')`,
    `POSTGRESQL(${at} table 't')`,
    `MONGODB(${at} collection 't')`,
    `REDIS(host '${host}' port ${port})`,
    `EXECUTABLE(command 'cat ${files.csv}' format 'CSV')`,
    `YAMLREGEXPTREE(path '${files.yaml}')`,
    `CLICKHOUSE(QUERY 'SELECT file(''${files.text}'') AS k, '''' AS v')`,
  ];
  return sources.flatMap((source, index) => [
    `CREATE DICTIONARY trial.d${index} (k String, v String) PRIMARY KEY k SOURCE(${source}) LAYOUT(COMPLEX_KEY_HASHED()) LIFETIME(0)`,
    `SELECT * FROM trial.d${index}`,
  ]);
};

const disksOut = ({ folder, server }: Outside): string[] =>
  [
    `type = 'local', path = '${folder}/disk/'`,
    `type = 'local_blob_storage', path = '${folder}/disk/'`,
    `type = 'object_storage', object_storage_type = 'local', metadata_type = 'local', path = '${folder}/disk/'`,
    `type = 'web', endpoint = 'http://${server}/x/'`,
    `type = 's3', endpoint = 'http://${server}/b/', access_key_id = 'a', secret_access_key = 'b'`,
    `type = 'encrypted', disk = 'default', path = '../../disk/', key = '1234567812345678'`,
  ].flatMap((disk, index) => [
    `CREATE TABLE trial.k${index} (c String) ENGINE = MergeTree ORDER BY c SETTINGS disk = disk(${disk})`,
    `CREATE TEMPORARY TABLE k${index} (c String) ENGINE = MergeTree ORDER BY c SETTINGS disk = disk(${disk})`,
    `ALTER TABLE trial.t MODIFY SETTING disk = disk(${disk})`,
  ]);

const statementsOut = ({ folder, files, server }: Outside): string[] => {
  const { text, format, proto } = files;
  const url = `http://${server}`;
  return [
    ...[`'${folder}/out.txt'`, `'${text}' APPEND`, `'${text}' TRUNCATE`].map(
      (to) => `SELECT 1 INTO OUTFILE ${to}`,
    ),
    `INSERT INTO trial.t FROM INFILE '${text}' FORMAT LineAsString`,
    ...[
      `File('${folder}/backup')`,
      `File('../../backup')`,
      `Disk('default', '${folder}/backup')`,
      `S3('${url}/b/k', 'a', 'b')`,
      `AzureBlobStorage('${url}', 'c', 'b', 'a', 'a2V5')`,
    ].flatMap((place) => [
      `BACKUP TABLE trial.t TO ${place}`,
      `RESTORE TABLE trial.t AS trial.r FROM ${place}`,
    ]),
    `ATTACH TABLE trial.at FROM '${folder}' (c String) ENGINE = MergeTree ORDER BY c`,
    `ALTER TABLE trial.t ATTACH PART '../../../../../../../..${folder}'`,
    `ALTER TABLE trial.t FREEZE WITH NAME '${folder}/frozen'`,
    `SYSTEM UNFREEZE WITH NAME '../../../../..${folder}'`,
    `ALTER TABLE trial.t FETCH PARTITION tuple() FROM '/x'`,
    `CREATE VIEW trial.v1 AS SELECT * FROM file('${text}', 'LineAsString')`,
    `CREATE VIEW trial.v2 SQL SECURITY NONE AS SELECT * FROM url('${url}/x', 'LineAsString')`,
    `CREATE VIEW trial.v3 DEFINER = default SQL SECURITY DEFINER AS SELECT * FROM file('${text}', 'LineAsString')`,
    `CREATE VIEW trial.v4 AS SELECT file('${text}') AS a`,
    'SELECT * FROM trial.v4',
    `CREATE MATERIALIZED VIEW trial.mv REFRESH EVERY 1 SECOND ENGINE = Memory AS SELECT file('${text}') AS a`,
    `CREATE FUNCTION secret AS () -> file('${text}')`,
    'SELECT secret()',
    `CREATE TABLE trial.g (c String, d String DEFAULT file('${text}')) ENGINE = Memory`,
    `INSERT INTO trial.g (c) VALUES ('a')`,
    'SELECT * FROM trial.g',
    `ALTER TABLE trial.t UPDATE d = file('${text}') WHERE 1 SETTINGS mutations_sync = 2`,
    'SELECT * FROM trial.t',
    `INSERT INTO trial.t VALUES (file('${text}'), '')`,
    `SELECT * FROM default.\`${text}\``,
    `SELECT * FROM default.\`${url}/x\``,
    `CREATE NAMED COLLECTION out AS url = '${url}/x', format = 'LineAsString'`,
    'SELECT * FROM url(out)',
    'GRANT ALL ON *.* TO tidemark',
    `CREATE USER other IDENTIFIED BY 'x'`,
    'EXECUTE AS default SELECT 1',
    'SYSTEM START LISTEN TCP',
    'SYSTEM RELOAD CONFIG',
    'SYSTEM JEMALLOC FLUSH PROFILE',
    `SELECT 1 AS c FORMAT Template SETTINGS format_template_row = '${format}'`,
    `SELECT * FROM format(Template, 'c String', '${'x'}') SETTINGS format_template_row = '${format}'`,
    `SELECT 1 AS c FORMAT Protobuf SETTINGS format_schema = '${proto}:x'`,
    `SELECT 1 AS c FORMAT CapnProto SETTINGS output_format_schema = '${folder}/schema.out'`,
    `SELECT * FROM format(AvroConfluent, 'a String', 'xxxxxxx') SETTINGS format_avro_schema_registry_url = '${url}'`,
    `SELECT file('/proc/self/root${text}')`,
    `SELECT file('/proc/self/cwd/../../../../..${text}')`,
    `SELECT * FROM remote('${server}', system.one)`,
    `SELECT reverseDNSQuery('127.0.0.1')`,
  ];
};

/**
 * Statements that would read or write the outside's files, or call its server, if this server let them: every table function, engine of
 * tables and databases, source of dictionaries and function by its name, and what statements and settings can name.
 */
export const waysOut = (names: ClickhouseNames, outside: Outside): string[] => [
  ...tableFunctionsOut(names.tableFunctions, outside),
  ...enginesOut(names, outside),
  ...dictionariesOut(outside),
  ...disksOut(outside),
  ...statementsOut(outside),
  ...names.functions
    .filter((name) => !unhelpful.test(name))
    .flatMap((name) => [
      `SELECT ${name}('${outside.files.text}')`,
      `SELECT ${name}('http://${outside.server}/x')`,
    ]),
];
