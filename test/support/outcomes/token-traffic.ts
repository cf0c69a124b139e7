import { createSecrets, type Secrets } from '../secrets.ts';
import type { Application, Report, Stack } from '../stack/stack.ts';

/** Where tokens are sent to and fro, and what is known of them. */
export type TokenTraffic = {
  readonly stack: Stack;
  /** Credentials: no log, metric, table, stream or dead letter may contain them, and no answer of a receiver. */
  readonly secrets: Secrets;
  /** Good tokens that a sender puts among its own data: where that is stored they are, like all it sends. Nowhere else. */
  readonly misplaced: Secrets;
  /** What the receivers answered. */
  readonly answers: string[];
  /** The token of an application for tests of misplaced tokens, noted under this name. */
  misplace(name: string): string;
  newReport(name: string): Promise<Report>;
  newApplication(name: string): Promise<Application>;
};

const spareCount = 13;

/** Traffic of tokens through a stack: nothing was sent yet. */
export const openTokenTraffic = async (stack: Stack): Promise<TokenTraffic> => {
  const secrets = createSecrets();
  const misplaced = createSecrets();
  const spare: string[] = [];
  for (let count = 0; count < spareCount; count++)
    spare.push((await stack.createApplication(`spare ${count}`)).token);
  return {
    stack,
    secrets,
    misplaced,
    answers: [],
    misplace: (name) => misplaced.note(name, spare.pop() ?? ''),
    newReport: async (name) => {
      const report = await stack.createReport(name);
      secrets.note(`token of report ${name}`, report.data_source.token);
      return report;
    },
    newApplication: async (name) => {
      const application = await stack.createApplication(name);
      secrets.note(`token of application ${name}`, application.token);
      return application;
    },
  };
};
