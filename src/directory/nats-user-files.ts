import { type NatsUserName, natsUserNames, usersText } from '../bus/nats-users.ts';
import type { Pipelines } from '../config/pipelines.ts';
import { natsRights } from './nats-rights.ts';

/** The variable of nats-server's environment that has the password of a user. */
export const passwordVariable = (user: NatsUserName): string => `NATS_${user.toUpperCase()}_PASSWORD`;

/** The users of NATS for its configuration file, with their passwords in the environment of the server. */
export const natsUsersConf = (pipelines: Pipelines): string => {
  const rights = natsRights(pipelines);
  const users = natsUserNames.map((user) => ({
    user,
    password: `$${passwordVariable(user)}`,
    rights: rights[user],
  }));
  return [
    '# Written by `tidemark config nats-users`: a user for each role, and one for operators. docs/operations.md, Users of NATS.',
    '# Streams and clients stay in the account that those without a name are in.',
    `authorization {\n  ${usersText(users)}\n}`,
    '',
  ].join('\n');
};

const yamlList = (subjects: readonly string[]): string[] =>
  subjects.map((subject) => `              - ${JSON.stringify(subject)}`);

/** The same as values of the Helm chart of NATS: `<< >>` is put in without quotes, a variable. */
export const natsUsersValues = (pipelines: Pipelines): string => {
  const rights = natsRights(pipelines);
  return [
    '# Written by `tidemark config nats-users --values`: a user for each role, and one for operators. docs/operations.md, Users of NATS.',
    '# helm upgrade --install nats nats/nats --namespace nats --values nats-small.yaml --values nats-users.yaml',
    'container:',
    '  env:',
    ...natsUserNames.flatMap((user) => [
      `    ${passwordVariable(user)}:`,
      '      valueFrom:',
      `        secretKeyRef: { name: tidemark-nats, key: ${user} }`,
    ]),
    'config:',
    '  merge:',
    '    # Streams and clients stay in the account that those without a name are in.',
    '    authorization:',
    '      users:',
    ...natsUserNames.flatMap((user) => [
      `        - user: ${user}`,
      `          password: << $${passwordVariable(user)} >>`,
      '          permissions:',
      '            publish:',
      ...yamlList(rights[user].publish),
      '            subscribe:',
      ...yamlList(rights[user].subscribe),
    ]),
    '',
  ].join('\n');
};
