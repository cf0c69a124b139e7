import { headOf, patternTextMax } from '../model/text-forms.ts';

/** Names of senders as a label of metrics. */
export type SenderNames = {
  /** The SDK that the resource names, else the product in User-Agent; `unknown` without either. */
  nameOf(sdk: string, userAgent: string | undefined): string;
};

/** Different names of senders that are counted separately; senders choose their names freely. */
const namesMax = 100;
const lengthMax = 60;

const tidy = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9.+/_-]+/g, '_')
    .slice(0, lengthMax);

/** No product has such a name, but a token of another deployment may, or a part of one. */
const tokenForm = /[0-9a-f]{16}/i;

/** The product in User-Agent, with its version; empty without one. The exporters of Go have spaces in the name of theirs. */
const productOf = (userAgent: string | undefined): string =>
  /^\s*((?:OTel OTLP Exporter )?[^\s(]+)/.exec(headOf(userAgent ?? ''))?.[1] ?? '';

/** The SDK that the resource names, else the product in User-Agent; empty without either. As sent: it has no bound. */
export const senderName = (sdk: string, userAgent: string | undefined): string =>
  sdk === '' ? productOf(userAgent) : sdk;

/**
 * Every further name after the first hundred is `other`, so that no sender can grow the metrics. A name that is a credential (a
 * header that was set in the wrong place), or looks like one, is `unknown`.
 */
export const createSenderNames = (isCredential: (text: string) => boolean): SenderNames => {
  const names = new Set<string>();
  return {
    nameOf: (sdk, userAgent) => {
      const given = sdk === '' ? (productOf(userAgent).split('/')[0] ?? '') : sdk;
      if (given.length >= patternTextMax) return 'unknown';
      const isToken = tokenForm.test(given) || given.split(/[^\w-]+/).some(isCredential);
      const name = isToken ? 'unknown' : tidy(given) || 'unknown';
      if (names.has(name)) return name;
      if (names.size >= namesMax) return 'other';
      names.add(name);
      return name;
    },
  };
};
