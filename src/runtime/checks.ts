/** The state of one part or dependency for `/readyz`: undefined when it is well, else why not. */
export type Check = () => string | undefined;

export type ReadyChecks = Readonly<Record<string, Check>>;

/** All that `/readyz` of a role asks. */
export type Readiness = {
  /** Of the process itself: while one of them fails, it starts, stops, or can do none of its work. */
  readonly checks: ReadyChecks;
  /** Of what it shares with others: it works on as far as it can, and stays ready. */
  readonly degraded: ReadyChecks;
};

/** Checks of a role that starts: every name has a check from the beginning. */
export type Checks<Name extends string> = {
  /** The checks of this moment; the object stays the same. */
  readonly all: ReadyChecks;
  /** Replaces checks by those of the parts that have started. */
  set(checks: Partial<Record<Name, Check>>): void;
};

/** `starting` has the result of each check until its part has started; `/readyz` keeps their order. */
export const createChecks = <Name extends string>(
  starting: Readonly<Record<Name, string | undefined>>,
): Checks<Name> => {
  const all: Record<string, Check> = {};
  for (const [name, why] of Object.entries<string | undefined>(starting)) all[name] = () => why;
  return {
    all,
    set: (checks) => {
      Object.assign(all, checks);
    },
  };
};
