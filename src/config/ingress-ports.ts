import { settingFault } from './settings.ts';

/** Between the operations ports of two processes: those of the other roles stand next to ingress's own. */
export const opsPortStep = 10;

const portMax = 65_535;

/** The operations port of the n-th ingress process; 0, a free port, is so for each of them. */
export const opsPortOf = (opsPort: number, number: number): number =>
  opsPort === 0 ? 0 : opsPort + opsPortStep * (number - 1);

/** Throws a permanent Fault `config_invalid` where there is no port for the last of the processes. */
export const requireOpsPorts = (opsPort: number, processes: number): void => {
  const last = opsPortOf(opsPort, processes);
  if (last <= portMax) return;
  throw settingFault(
    'environment variable TIDEMARK_INGRESS_OPS_PORT',
    `the value ${opsPort} leaves no operations port for the last of ${processes} ingress processes, which would have ${last}`,
    `Set at most ${portMax - opsPortStep * (processes - 1)}, or fewer TIDEMARK_INGRESS_PROCESSES`,
  );
};
