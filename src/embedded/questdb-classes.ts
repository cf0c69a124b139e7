import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { errorText } from '../model/fault.ts';
import { exists } from '../runtime/files.ts';
import { basicAuthorization, createDatabaseAccounts } from './credentials.ts';
import { type Progress, type QuestdbProgram, secondsSince } from './install.ts';
import { freePorts } from './ports.ts';
import { createQuestdbEngine, questdbModules } from './questdb.ts';
import { versions } from './versions.ts';

const host = '127.0.0.1';

/** Loads the classes that a start and a first write need. */
const statements = [
  'CREATE TABLE warm (timestamp TIMESTAMP, uid LONG, target SYMBOL, value DOUBLE) TIMESTAMP(timestamp) PARTITION BY DAY WAL DEDUP UPSERT KEYS(timestamp, uid)',
  "INSERT INTO warm VALUES (now(), 1, 'a', 1.5)",
  'SELECT target, count() FROM warm',
  'SELECT * FROM wal_tables()',
];

/**
 * Runs QuestDB once and keeps its loaded classes beside its jar, if that was not done for this Java: a start then takes
 * half the processor time. On failure QuestDB starts without them, and a line reports that.
 */
export const archiveQuestdbClasses = async (program: QuestdbProgram, progress: Progress): Promise<void> => {
  if (await exists(program.classArchive)) return;
  const label = `QuestDB ${versions.questdb}`;
  progress(`${label}: archiving its loaded classes for faster starts …`);
  const startedAt = performance.now();
  const folder = `${program.classArchive}.${randomUUID()}.tmp`;
  const written = `${folder}.jsa`;
  const [http = 0, pg = 0] = await freePorts(2, host);
  const accounts = createDatabaseAccounts();
  const engine = createQuestdbEngine(
    { folder, host, ports: { http, pg }, log: () => {}, isArchiving: true, accounts },
    { questdb: async () => ({ ...program, classArchive: written }) },
  );
  try {
    await engine.start();
    for (const statement of statements) {
      const url = `http://${host}:${http}/exec?query=${encodeURIComponent(statement)}`;
      const answer = await fetch(url, { headers: { authorization: basicAuthorization(accounts) } });
      await answer.text();
    }
    await engine.stop();
    // One cut short by a full disk or a kill would crash each later start.
    const check = [`-XX:SharedArchiveFile=${written}`, '-Xshare:on', ...questdbModules(program), '-version'];
    await promisify(execFile)(program.java, check, { cwd: folder });
    await rename(written, program.classArchive);
    progress(`${label}: done in ${secondsSince(startedAt)}`);
  } catch (error) {
    progress(`${label}: starts without the archive (${errorText(error).split('\n')[0]})`);
  } finally {
    await engine.kill();
    await rm(folder, { recursive: true, force: true });
    await rm(written, { force: true });
  }
};
