import { openRefresh } from './refresh-fleet.ts';

/** A process with only the refresh job: it prints `ready`, runs on request and lives until it is killed. */
const [natsUrl = ''] = process.argv.slice(2);
const { refresh } = await openRefresh(natsUrl, process.env);
process.stdout.write('ready\n');
process.stdout.write(`${await refresh.runNow().then(JSON.stringify, String)}\n`);
