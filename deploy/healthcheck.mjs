// Ends with 0 when the role of this container lives. A container runs one role: the operations port that answers is its own. Of an
// ingress with several processes each has to answer; one that is being started again is there before the retries are over.
// With --ready: when it can do its work.
const { env } = process;
const processes = Number(env.TIDEMARK_INGRESS_PROCESSES ?? 1);
const ingress = Number(env.TIDEMARK_INGRESS_OPS_PORT ?? 10310);
const roles = [
  Array.from({ length: processes }, (_, index) => ingress + 10 * index),
  [env.TIDEMARK_TRANSFER_OPS_PORT ?? 10311],
  [env.TIDEMARK_METADATA_OPS_PORT ?? 10312],
];
const path = process.argv.includes('--ready') ? 'readyz' : 'livez';
const statusOf = async (port) => {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/${path}`, { signal: AbortSignal.timeout(3_000) });
    return answer.status;
  } catch {
    return undefined;
  }
};
const answers = await Promise.all(roles.map((ports) => Promise.all(ports.map(statusOf))));
const present = answers.filter((statuses) => statuses.some((status) => status !== undefined));
const isWell = present.length > 0 && present.flat().every((status) => status === 200);
process.exit(isWell ? 0 : 1);
