/** The QuestDB instance of `TIDEMARK_QUESTDB_URL`, and of every table without an instance in its records. */
export const defaultInstance = 'default';

const namePattern = /^[a-z][a-z0-9_-]{0,31}$/;

/** Whether an instance can be called so: the name is part of streams, subjects and labels. */
export const isInstanceName = (text: string): boolean => namePattern.test(text);

/** What a backup calls the copy of this instance, and its folder. */
export const questdbPart = (instance: string): string =>
  instance === defaultInstance ? 'questdb' : `questdb-${instance}`;
