/** The state of one dependency for `/readyz`: undefined when it is well, else why not. */
export type Check = () => string | undefined;

export type ReadyChecks = Readonly<Record<string, Check>>;

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
