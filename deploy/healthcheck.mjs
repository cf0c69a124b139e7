// Ends with 0 when the role of this container lives. A container runs one role: whichever operations port answers is its own.
// With --ready: when it can do its work.
const ports = [
  process.env.TIDEMARK_INGRESS_OPS_PORT ?? 10310,
  process.env.TIDEMARK_TRANSFER_OPS_PORT ?? 10311,
  process.env.TIDEMARK_METADATA_OPS_PORT ?? 10312,
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
const answered = (await Promise.all(ports.map(statusOf))).filter((status) => status !== undefined);
process.exit(answered.length > 0 && answered.every((status) => status === 200) ? 0 : 1);
