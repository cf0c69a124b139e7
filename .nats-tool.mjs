import { connect } from '@nats-io/transport-node';
import { jetstreamManager } from '@nats-io/jetstream';
import { readFileSync } from 'node:fs';
const D=process.env.TIDEMARK_DATA;
const env=Object.fromEntries(readFileSync(process.env.NATSENV,'utf8').split('\n').map(l=>/^(?:export )?([A-Z_]+)='?([^']*)'?$/.exec(l)).filter(Boolean).map(m=>[m[1],m[2]]));
const nc=await connect({servers:'127.0.0.1:4222', user: env.NATS_USER||env.TIDEMARK_NATS_USER, pass: env.NATS_PASSWORD||env.TIDEMARK_NATS_PASSWORD});
const m=await jetstreamManager(nc);
const [op,...a]=process.argv.slice(2);
if(op==='info'){const s=await m.streams.info(a[0]);console.log(s.state, a[1]&&(await m.consumers.info(a[0],a[1])).ack_floor);}
if(op==='purge')console.log(await m.streams.purge(a[0]));
if(op==='del'){for(const q of a.slice(1))console.log(q,await m.streams.deleteMessage(a[0],Number(q),false));}
if(op==='req'){const r=await nc.request(a[0],a[1]??'');console.log(r.string());}
if(op==='consdel')console.log(await m.consumers.delete(a[0],a[1]));
await nc.close();
