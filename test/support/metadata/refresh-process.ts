import { openRefresh } from './refresh-fleet.ts';

/** A process with nothing in it but the refresh job: it says `ready`, runs by hand and lives until it is killed. */
const [natsUrl = ''] = process.argv.slice(2);
const { refresh } = await openRefresh(natsUrl, process.env);
process.stdout.write('ready\n');
process.stdout.write(`${await refresh.runNow().then(JSON.stringify, String)}\n`);
