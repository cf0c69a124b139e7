import { constants, existsSync, openSync, statSync } from 'node:fs';
import { DataType, load, open } from 'ffi-rs';
import { errorText } from '../model/fault.ts';

/** The files and ports that the thread that confines itself, and every thread it starts, may still reach. */
export type Confinement = {
  /** Folders below which it may do everything but run programs. */
  readonly writable: readonly string[];
  /** Files and folders that it may read; missing ones are skipped. */
  readonly readable: readonly string[];
  /** TCP ports it may listen on. */
  readonly ports: readonly number[];
};

/** This machine cannot confine a thread. The message has the reason. */
export class ConfinementError extends Error {
  override readonly name = 'ConfinementError';
}

const library = 'c';
const { I32, I64, U8Array } = DataType;

/** Numbers of system calls and of the architecture, as in the kernel's unistd.h and audit.h. */
type Architecture = {
  readonly audit: number;
  readonly seccomp: number;
  readonly sendto: number;
  readonly capset: number;
  /** System calls that a server which only answers never needs. */
  readonly denied: readonly number[];
};

const architectures: Readonly<Record<string, Architecture>> = {
  // connect, sendmsg, sendmmsg, execve, execveat, io_uring_setup, ptrace
  x64: { audit: 0xc000003e, seccomp: 317, sendto: 44, capset: 126, denied: [42, 46, 307, 59, 322, 425, 101] },
  arm64: {
    audit: 0xc00000b7,
    seccomp: 277,
    sendto: 206,
    capset: 91,
    denied: [203, 211, 269, 221, 281, 425, 117],
  },
};

type Argument = readonly [DataType, number | Buffer];

const call = (funcName: string, args: readonly Argument[]): number => {
  const { value, errnoMessage } = load({
    library,
    funcName,
    retType: I64,
    paramsType: args.map(([type]) => type),
    paramsValue: args.map(([, given]) => given),
    errno: true as const,
  });
  if (value < 0) throw new ConfinementError(`${funcName} ${args[0]?.[1]}: ${errnoMessage}`);
  return value;
};

const integer = (value: number): Argument => [I64, value];
const bytes = (value: Buffer): Argument => [U8Array, value];
const syscall = (number: number, ...args: Argument[]): number => call('syscall', [integer(number), ...args]);

/** A structure of unsigned numbers: bytes of each, and its value. */
const structure = (...fields: (readonly [size: 1 | 2 | 4 | 8, value: number])[]): Buffer => {
  const buffer = Buffer.alloc(fields.reduce((sum, [size]) => sum + size, 0));
  let at = 0;
  for (const [size, value] of fields) {
    if (size === 8) buffer.writeBigUInt64LE(BigInt(value), at);
    else buffer.writeUIntLE(value, at, size);
    at += size;
  }
  return buffer;
};

const landlock = { createRuleset: 444, addRule: 445, restrictSelf: 446 } as const;
const versionOnly = 1;
const rule = { path: 1, port: 2 } as const;
const readFile = 1 << 2;
const readFolder = 1 << 3;
const execute = 1 << 0;
const bindTcp = 1;
const openPath = 0o10000000;
/** Version of the interface -> bits of all rights over files. */
const fileRights = (version: number): number => {
  if (version >= 5) return 0xffff;
  return version >= 3 ? 0x7fff : version === 2 ? 0x3fff : 0x1fff;
};

const restrictFiles = ({ writable, readable, ports }: Confinement): void => {
  let version: number;
  try {
    version = syscall(landlock.createRuleset, integer(0), integer(0), integer(versionOnly));
  } catch (error) {
    throw new ConfinementError(`Landlock is not available (${errorText(error)})`);
  }
  const all = fileRights(version);
  const hasPorts = version >= 4;
  // Files; listening and connecting; abstract sockets and signals: as far as this kernel supports them.
  const scopes = version >= 6 ? 3 : 0;
  const attributes = structure([8, all], [8, hasPorts ? 3 : 0], [8, scopes]);
  const size = version >= 6 ? 24 : hasPorts ? 16 : 8;
  const ruleset = syscall(landlock.createRuleset, bytes(attributes), integer(size), integer(0));
  const allow = (kind: number, rights: Buffer): void => {
    syscall(landlock.addRule, integer(ruleset), integer(kind), bytes(rights), integer(0));
  };
  const allowPath = (path: string, rights: number): void => {
    // It stays open: a rule is of an inode, and procfs makes a new one for a name that nothing holds.
    const fd = openSync(path, openPath | constants.O_RDONLY);
    allow(rule.path, structure([8, rights], [4, fd]));
  };
  for (const path of writable) allowPath(path, all & ~execute);
  for (const path of readable.filter((path) => existsSync(path))) {
    allowPath(path, statSync(path).isDirectory() ? readFile | readFolder : readFile);
  }
  if (hasPorts) for (const port of ports) allow(rule.port, structure([8, bindTcp], [8, port]));
  syscall(landlock.restrictSelf, integer(ruleset), integer(0));
};

// Of a filter of system calls: linux/filter.h, linux/seccomp.h.
const bpf = { load: 0x20, ifEqual: 0x15, ifAtLeast: 0x35, answer: 0x06 } as const;
const answers = { allow: 0x7fff0000, accessDenied: 0x0005000d } as const;
const fields = { number: 0, architecture: 4, address: 16 + 4 * 8 } as const;
/** Numbers from here on are those of the x32 interface. */
const x32 = 0x40000000;

type Step = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

const deny: Step = [bpf.answer, 0, 0, answers.accessDenied];

const filterOf = ({ audit, sendto }: Architecture, denied: readonly number[]): readonly Step[] => [
  [bpf.load, 0, 0, fields.architecture],
  [bpf.ifEqual, 1, 0, audit],
  deny,
  [bpf.load, 0, 0, fields.number],
  [bpf.ifAtLeast, 0, 1, x32],
  deny,
  ...denied.flatMap((number): Step[] => [[bpf.ifEqual, 0, 1, number], deny]),
  // Without an address it sends on an existing connection.
  [bpf.ifEqual, 0, 5, sendto],
  [bpf.load, 0, 0, fields.address],
  [bpf.ifEqual, 0, 2, 0],
  [bpf.load, 0, 0, fields.address + 4],
  [bpf.ifEqual, 1, 0, 0],
  deny,
  [bpf.answer, 0, 0, answers.allow],
];

const setModeFilter = 1;
/** Else processors with the flaw of 2018 run the thread slower on older kernels. */
const allowSpeculation = 4;

const architectureHere = (): Architecture => {
  const architecture = architectures[process.arch];
  if (architecture === undefined)
    throw new ConfinementError(`unknown processor architecture ${process.arch}`);
  return architecture;
};

/**
 * Makes these system calls fail with EACCES in this thread, and in every thread and program it starts. Needs
 * `setNoNewPrivileges`.
 */
const denyCalls = (denied: readonly number[]): void => {
  const architecture = architectureHere();
  const steps = filterOf(architecture, denied);
  const program = Buffer.concat(
    steps.map(([code, ifTrue, ifFalse, operand]) =>
      structure([2, code], [1, ifTrue], [1, ifFalse], [4, operand]),
    ),
  );
  // The kernel takes a pointer to the program: its bytes must be at a known address.
  const address = call('malloc', [integer(program.length)]);
  call('memcpy', [integer(address), bytes(program), integer(program.length)]);
  const pointed = structure([2, steps.length], [2, 0], [4, 0], [8, address]);
  syscall(architecture.seccomp, integer(setModeFilter), integer(allowSpeculation), bytes(pointed));
};

const capabilityVersion = 0x20080522;

/**
 * Root's thread obeys permission bits like others. Over a folder of another user it keeps its capabilities: it could not
 * write there without them.
 */
const giveUpCapabilities = (writable: readonly string[]): void => {
  if (!writable.every((path) => statSync(path).uid === process.geteuid?.())) return;
  const none = structure([8, 0], [8, 0], [8, 0]);
  syscall(architectureHere().capset, bytes(structure([4, capabilityVersion], [4, 0])), bytes(none));
};

const setNoNewPrivileges = 38;

/**
 * From now on no program that this thread starts has more rights than it; without that, an unprivileged thread may not
 * confine itself.
 */
const giveUpPrivileges = (): void => {
  const set: Argument[] = [1, 0, 0, 0].map(integer);
  call('prctl', [[I32, setNoNewPrivileges], ...set]);
};

/** Simulates an older kernel: this thread, and all that it starts, cannot be confined any more. For tests. */
export const forgetLandlock = (): void => {
  open({ library, path: '' });
  giveUpPrivileges();
  denyCalls(Object.values(landlock));
};

/**
 * Takes from this thread, and from every thread it starts, all files but those named (Landlock), and every way to reach another
 * process (a filter of system calls): it cannot connect, send to an address, or run a program. Pipes of this process are no such
 * files: `lockPipes`. It cannot be undone. Needs no rights. Threads that run already are not confined. Linux only; throws
 * ConfinementError where the kernel cannot do it.
 */
export const confine = (confinement: Confinement): void => {
  if (process.platform !== 'linux') throw new ConfinementError('this system is not Linux');
  open({ library, path: '' });
  giveUpPrivileges();
  restrictFiles(confinement);
  giveUpCapabilities(confinement.writable);
  denyCalls(architectureHere().denied);
};
