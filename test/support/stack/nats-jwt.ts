import { nkeys } from '@nats-io/transport-node';

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A JWT as NATS has them: signed by an nkey. */
const sign = (
  issuer: nkeys.KeyPair,
  subject: nkeys.KeyPair,
  name: string,
  nats: Record<string, unknown>,
): string => {
  const claims = {
    jti: name,
    iat: 1_700_000_000,
    iss: issuer.getPublicKey(),
    name,
    sub: subject.getPublicKey(),
    nats: { ...nats, version: 2 },
  };
  const signed = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part(claims)}`;
  return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString('base64url')}`;
};

const unlimited = { subs: -1, data: -1, payload: -1, conn: -1, leaf: -1, imports: -1, exports: -1 };

/** An operator with one account that may use JetStream, and a user of it: what the server's configuration needs, and a .creds file. */
export const createNatsAccount = (): { readonly configuration: string; readonly credentials: string } => {
  const operator = nkeys.createOperator();
  const account = nkeys.createAccount();
  const system = nkeys.createAccount();
  const user = nkeys.createUser();
  const limits = {
    ...unlimited,
    wildcards: true,
    mem_storage: -1,
    disk_storage: -1,
    streams: -1,
    consumer: -1,
  };
  const systemJwt = sign(operator, system, 'system', {
    type: 'account',
    limits: { ...unlimited, wildcards: true },
  });
  const accountJwt = sign(operator, account, 'tidemark', { type: 'account', limits });
  const userJwt = sign(account, user, 'role', { type: 'user', subs: -1, data: -1, payload: -1 });
  const seed = new TextDecoder().decode(user.getSeed());
  const block = (kind: string, text: string): string =>
    `-----BEGIN ${kind}-----\n${text}\n------END ${kind}------\n`;
  return {
    configuration: [
      `operator: ${sign(operator, operator, 'operator', { type: 'operator' })}`,
      'resolver: MEMORY',
      `system_account: ${system.getPublicKey()}`,
      `resolver_preload: { ${account.getPublicKey()}: ${accountJwt}, ${system.getPublicKey()}: ${systemJwt} }`,
    ].join('\n'),
    credentials: `${block('NATS USER JWT', userJwt)}\n${block('USER NKEY SEED', seed)}`,
  };
};
