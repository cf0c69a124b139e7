/** The state of one dependency for `/readyz`: undefined when it is well, else why not. */
export type Check = () => string | undefined;

export type ReadyChecks = Readonly<Record<string, Check>>;

/** Checks of a role that starts: every name answers from the beginning. */
export type Checks<Name extends string> = {
  /** The checks of this moment; the object stays the same. */
  readonly all: ReadyChecks;
  /** Replaces checks by those of the parts that have started. */
  set(checks: Partial<Record<Name, Check>>): void;
};

/** `starting` has what each check answers until its part has started; the order stays that of `/readyz`. */
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
