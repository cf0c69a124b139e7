import { createHash, randomBytes } from 'node:crypto';
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { KvBucket } from '../bus/kv.ts';
import { Fault, messageOf } from '../model/fault.ts';
import type { Log } from '../telemetry/log.ts';
import { isConflict } from './record-store.ts';

/** Name of the file in the data folder that has the admin token, for its owner alone. */
export const adminTokenFile = 'admin.token';

const key = 'admin_token';
const storedSchema = z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) });

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');

const readToken = async (file: string): Promise<string | undefined> => {
  try {
    const token = (await readFile(file, 'utf8')).trim();
    return token === '' ? undefined : token;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new Fault(
      'permanent',
      'admin_token_unreadable',
      `${file} cannot be read: ${messageOf(error)}`,
      error,
    );
  }
};

/** Puts a whole file there at once, or answers false when another process was first. */
const writeOnce = async (file: string, text: string): Promise<boolean> => {
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    await unlink(draft);
  }
};

const tokenOfFolder = async (dataFolder: string): Promise<string> => {
  const file = join(dataFolder, adminTokenFile);
  const there = await readToken(file);
  if (there !== undefined) return there;
  const token = randomBytes(32).toString('hex');
  try {
    await mkdir(dataFolder, { recursive: true });
    if (await writeOnce(file, `${token}\n`)) return token;
  } catch (error) {
    throw new Fault(
      'permanent',
      'admin_token_unwritable',
      `${file} cannot be written: ${messageOf(error)}`,
      error,
    );
  }
  return (await readToken(file)) ?? token;
};

const registered = async (system: KvBucket): Promise<string | undefined> => {
  const stored = await system.get(key);
  return stored && storedSchema.parse(stored.value).sha256;
};

/**
 * The SHA-256 of the admin token that counts. The first start makes the token and writes it to `<dataFolder>/admin.token`
 * before its hash goes to KV; later starts and other metadata processes use the hash in KV. Where KV has none (a first
 * start, or NATS lost its data) the file's token is registered. Permanent Faults when the file cannot be read or written.
 */
export const ensureAdminToken = async (system: KvBucket, dataFolder: string, log: Log): Promise<Buffer> => {
  const file = join(dataFolder, adminTokenFile);
  const known = await registered(system);
  const own = known === undefined ? await tokenOfFolder(dataFolder) : await readToken(file);
  if (known === undefined && own !== undefined) {
    await system.create(key, { sha256: hashOf(own) }).catch((error: unknown) => {
      if (!isConflict(error)) throw error;
    });
  }
  const hash = await registered(system);
  if (hash === undefined) {
    throw new Fault('transient', 'admin_token_unregistered', 'the admin token could not be registered');
  }
  if (own === undefined || hashOf(own) !== hash) {
    log.warn({ file }, 'another metadata process made the admin token; this file does not have it');
  }
  return Buffer.from(hash, 'hex');
};
