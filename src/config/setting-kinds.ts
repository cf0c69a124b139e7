import { validateHeaderValue } from 'node:http';
import { z } from 'zod';
import { defaultInstance, isInstanceName } from '../model/instances.ts';

const byteUnits: Readonly<Record<string, number>> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** Bytes of `512`, `64KiB`, `16MiB`, `2GiB`, up to 8388607GiB; undefined for anything else. */
export const parseBytes = (text: string): number | undefined => {
  const match = /^(\d{1,12})\s*(KiB|MiB|GiB)?$/.exec(text.trim());
  const unit = byteUnits[match?.[2] ?? ''];
  if (match === null || unit === undefined) return undefined;
  const bytes = Number(match[1]) * unit;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
};

/** The names of `a, b`. */
const parseNames = (text: string): string[] => text.split(',').map((name) => name.trim());

/** How an address begins that the roles can connect to. */
const ofHttp = /^https?:\/\/[^/]/i;
/** Without a path: what comes after a / ? or # in a password would be none of it. */
const ofNats = /^(nats|tls):\/\/[^/?#]+\/?$/i;

const isAddress = (text: string, beginning: RegExp): boolean => beginning.test(text) && URL.canParse(text);

const notHttp = 'is not an address like http://host:port or https://host:port';

/** Why user and password of an address cannot be decoded, without showing them; undefined where they can. */
const wrongAccount = (text: string): string | undefined => {
  const { username, password } = new URL(text);
  const account = `${username}:${password}`;
  if (/%(?![0-9a-f]{2})/i.test(account))
    return 'has a % in its user or password that is not followed by two hex digits: write %25';
  try {
    decodeURIComponent(account);
    return undefined;
  } catch {
    return 'has codes like %C3 in its user or password whose text is not UTF-8';
  }
};

/** One or several addresses that begin so, separated by commas. */
const addresses = (beginning: RegExp, split: (text: string) => readonly string[], wrong: string) => {
  const wrongAccountIn = (text: string): string | undefined =>
    split(text)
      .map(wrongAccount)
      .find((why) => why !== undefined);
  return z
    .string()
    .refine((text) => split(text).every((each) => isAddress(each, beginning)), { error: wrong, abort: true })
    .refine((text) => wrongAccountIn(text) === undefined, {
      error: ({ input }) => wrongAccountIn(String(input)),
    });
};

const hasNoUser = (text: string): boolean => {
  const { username, password } = new URL(text);
  return username === '' && password === '';
};

/** A QuestDB instance and its HTTP address: `http://[user:password@]host:port`. */
export type QuestdbAddress = { readonly name: string; readonly url: string };

/** The instances of `b=http://host:9000,c=http://…`, in their order; the text must have been checked. */
export const parseInstances = (text: string): QuestdbAddress[] =>
  text.split(',').map((each) => {
    const at = each.indexOf('=');
    return { name: each.slice(0, at).trim(), url: each.slice(at + 1).trim() };
  });

/** Does not name the addresses: they may hold passwords. */
const wrongInstances = (text: string): string | undefined => {
  const names = new Set<string>([defaultInstance]);
  for (const [index, { name, url }] of parseInstances(text).entries()) {
    const which = `in place ${index + 1} of its list`;
    if (!isInstanceName(name) || !isAddress(url, ofHttp))
      return `${which} is not like name=http://host:port, with a name of up to 32 of a-z, 0-9, _ and -, beginning with a letter`;
    if (names.has(name)) return `${which} repeats the name ${name}, which an instance before it has`;
    names.add(name);
    const wrong = wrongAccount(url);
    if (wrong !== undefined) return `${which} ${wrong}`;
  }
  return undefined;
};

/** A name of a ClickHouse cluster: it becomes a part of statements. */
export const clusterName = /^[A-Za-z0-9_.-]{1,100}$/;

const namesMax = 8;

const tablePrefixLengthMax = 64;

/** Names separated by commas, each of this form. */
const names = (form: RegExp, of: string) =>
  z
    .string()
    .refine(
      (text) => parseNames(text).length <= namesMax && parseNames(text).every((name) => form.test(name)),
      `is not a list of 1 to ${namesMax} names of ${of}, separated by commas`,
    )
    .transform(parseNames);

/** The name of a header field (RFC 9110, token). */
const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;

/** Whether a header field may have this value. */
export const isHeaderValue = (text: string): boolean => {
  try {
    validateHeaderValue('X-Value', text);
    return true;
  } catch {
    return false;
  }
};

const number = (form: RegExp, wrong: string) => z.string().regex(form, wrong).transform(Number);

const anyText = z.string().min(1, 'is empty');

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'];

/** The form of a setting's text, the type that it parses to, and its name in docs/settings.md. */
export type SettingKind<S extends z.ZodType = z.ZodType> = {
  readonly shown: string;
  readonly schema: S;
  /** Addresses may hold passwords. */
  readonly isSecret?: true;
};

/** Whether a text has the form of an IPv4 address and can be none. It may still be a name, or an address of fewer parts. */
const isNoAddress = (text: string): boolean =>
  /^\d+(\.\d+){3,}$/.test(text) &&
  (text.split('.').length > 4 || text.split('.').some((part) => Number(part) > 255));

/** The kinds of settings. Sizes parse to bytes. */
export const kinds = {
  port: {
    shown: 'port',
    schema: z
      .string()
      .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65535, 'is not a port (0 to 65535)')
      .transform(Number),
  },
  portOrOff: {
    shown: 'port, off',
    schema: z
      .string()
      .refine(
        (text) => text === 'off' || (/^\d{1,5}$/.test(text) && Number(text) <= 65535),
        'is neither a port (0 to 65535) nor off',
      )
      .transform((text) => (text === 'off' ? undefined : Number(text))),
  },
  level: {
    shown: 'level',
    schema: z.string().refine((text) => logLevels.includes(text), `is not one of ${logLevels.join(', ')}`),
  },
  text: { shown: 'text', schema: anyText },
  host: {
    shown: 'address or name',
    schema: anyText.refine((text) => !isNoAddress(text), 'is not an IPv4 address'),
  },
  /** Begins the names of tables, in which QuestDB refuses slashes, colons, commas and more. */
  tablePrefix: {
    shown: 'prefix',
    schema: z
      .string()
      .refine(
        (text) => text.length <= tablePrefixLengthMax && /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(text),
        `is not a prefix of at most ${tablePrefixLengthMax} letters from A to Z, digits, _ and -, with single dots between them`,
      ),
  },
  url: {
    shown: 'address',
    isSecret: true,
    schema: addresses(ofHttp, (text) => [text], notHttp),
  },
  /** Called by fetch, which takes no user in an address, and shown in errors and records. */
  bareUrl: {
    shown: 'address without user and password',
    isSecret: true,
    schema: z
      .string()
      .refine((text) => isAddress(text, ofHttp), { error: notHttp, abort: true })
      .refine(hasNoUser, 'has a user or a password, which this address does not take'),
  },
  /** Becomes a part of commands that people copy, so without credentials and without anything that a shell obeys. */
  publicUrl: {
    shown: 'public address',
    schema: z
      .string()
      .regex(
        /^https?:\/\/[A-Za-z0-9.:[\]-]{1,253}(\/[A-Za-z0-9._~/-]{0,200})?$/,
        'is not an address like https://metrics.example.com, without user and query',
      )
      .transform((text) => (text.endsWith('/') ? text.slice(0, -1) : text)),
  },
  origin: {
    shown: 'origin',
    schema: z
      .string()
      .regex(
        /^(\*|https?:\/\/[A-Za-z0-9.:[\]-]{1,253})$/,
        'is neither an origin like https://app.example.com nor *',
      ),
  },
  urls: {
    shown: 'addresses',
    isSecret: true,
    schema: addresses(
      ofNats,
      (text) => text.split(','),
      'is not one or several addresses like nats://host:port or tls://host:port, separated by commas; in a password write / ? # as %2F %3F %23',
    ),
  },
  instances: {
    shown: 'named addresses',
    isSecret: true,
    schema: z
      .string()
      .refine((text) => wrongInstances(text) === undefined, {
        error: ({ input }) => wrongInstances(String(input)),
      })
      .transform(parseInstances),
  },
  /** Names of header fields, parsed to lower case. */
  headers: {
    shown: 'names',
    schema: names(headerName, 'header fields').transform((given) => given.map((name) => name.toLowerCase())),
  },
  header: {
    shown: 'name',
    schema: z.string().regex(headerName, 'is not the name of a header field'),
  },
  attributes: { shown: 'names', schema: names(/^[^\s,"\\]{1,100}$/, 'attributes') },
  integer: { shown: 'integer', schema: number(/^-?\d{1,15}$/, 'is not an integer of at most 15 digits') },
  count: { shown: 'whole number', schema: number(/^\d{1,9}$/, 'is not a whole number from 0 to 999999999') },
  processes: {
    shown: '1 to 64',
    schema: number(/^([1-9]|[1-5]\d|6[0-4])$/, 'is not a whole number from 1 to 64'),
  },
  bytes: {
    shown: 'size',
    schema: z
      .string()
      .refine(
        (text) => parseBytes(text) !== undefined,
        'is not a size (a number, or a number with KiB, MiB or GiB, up to 8388607GiB)',
      )
      .transform((text) => parseBytes(text) ?? 0),
  },
  /** HTTP/2 takes no limit of 4 GiB and more. */
  headerBytes: {
    shown: 'size up to 1GiB',
    schema: z
      .string()
      .refine(
        (text) => (parseBytes(text) ?? Infinity) <= 2 ** 30,
        'is not a size of at most 1GiB (a number, or a number with KiB, MiB or GiB)',
      )
      .transform((text) => parseBytes(text) ?? 0),
  },
  flag: {
    shown: 'true or false',
    schema: z.enum(['true', 'false'], 'is not true or false').transform((text) => text === 'true'),
  },
  onOff: {
    shown: 'on or off',
    schema: z.enum(['on', 'off'], 'is not on or off').transform((text) => text === 'on'),
  },
  days: {
    shown: 'days or off',
    schema: z
      .string()
      .regex(
        /^(off|[1-9]\d{0,3}|[12]\d{4}|3[0-5]\d{3}|36[0-4]\d{2}|36500)$/,
        'is neither off nor a whole number of days from 1 to 36500',
      )
      .transform((text) => (text === 'off' ? ('off' as const) : Number(text))),
  },
  ratio: {
    shown: 'number from 0 to 1',
    schema: number(/^(0(\.\d{1,9})?|1(\.0{1,9})?)$/, 'is not a number from 0 to 1'),
  },
  path: { shown: 'path', schema: anyText },
  durability: {
    shown: 'process or power',
    schema: z.enum(['process', 'power'], 'is not process or power'),
  },
  explore: {
    shown: 'off, viewer or editor',
    schema: z.enum(['off', 'viewer', 'editor'], 'is not off, viewer or editor'),
  },
  replicas: {
    shown: '1, 3 or 5',
    schema: z.enum(['1', '3', '5'], 'is not one of 1, 3, 5').transform(Number),
  },
  cluster: {
    shown: 'a name',
    schema: z.string().regex(clusterName, 'is not a name of at most 100 letters, digits, _, . and -'),
  },
  secret: { shown: 'secret', isSecret: true, schema: anyText },
  /** Becomes the value of a header field; the error of fetch for another text quotes it. */
  headerSecret: {
    shown: 'secret',
    isSecret: true,
    schema: anyText
      .trim()
      .min(1, 'is empty')
      .refine(isHeaderValue, 'has a character that no header may have, such as a line feed'),
  },
} as const satisfies Readonly<Record<string, SettingKind>>;
