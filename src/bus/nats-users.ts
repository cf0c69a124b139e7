/** The users of NATS: one for each role, and one for operators and their commands. */
export const natsUserNames = ['ingress', 'transfer', 'metadata', 'operator'] as const;
export type NatsUserName = (typeof natsUserNames)[number];

/** Subjects, with wildcards; all others are refused. */
export type Rights = { readonly publish: readonly string[]; readonly subscribe: readonly string[] };

export type NatsRights = Readonly<Record<NatsUserName, Rights>>;

const ownInboxes: ReadonlySet<string> = new Set<NatsUserName>(['ingress', 'transfer', 'metadata']);

/**
 * The beginning of the subjects that answers for this user come to. Each role has its own, so that none reads the answers for
 * another; everybody else has that of all NATS clients.
 */
export const inboxPrefixOf = (user: string | undefined): string =>
  user !== undefined && ownInboxes.has(user) ? `_INBOX_${user}` : '_INBOX';

/** A user in the configuration of nats-server. `password` is written as it is: a quoted text, or the name of a variable. */
export type NatsUser = {
  readonly user: string;
  readonly password: string;
  /** Undefined = all. */
  readonly rights: Rights | undefined;
};

const list = (subjects: readonly string[]): string =>
  subjects.map((subject) => `\n        ${JSON.stringify(subject)}`).join('');

const permissions = ({ publish, subscribe }: Rights): string =>
  `, permissions: {\n      publish: [${list(publish)}\n      ]\n      subscribe: [${list(subscribe)}\n      ]\n    }`;

/** The list of users as a line of nats-server's configuration, for its block `authorization`. */
export const usersText = (users: readonly NatsUser[]): string => {
  const each = users.map(
    ({ user, password, rights }) =>
      `    { user: ${JSON.stringify(user)}, password: ${password}${rights === undefined ? '' : permissions(rights)} }`,
  );
  return `users: [\n${each.join('\n')}\n  ]`;
};
