import { describe, expect, it } from 'vitest';
import type { ApplicationSource } from '../../../../src/directory/applications.ts';
import { tooManyLookUps } from '../../../../src/directory/find-once.ts';
import { requestIdentity } from '../../../../src/ingress/identity.ts';
import { Fault } from '../../../../src/model/fault.ts';
import { jsonRequest, statusOf } from '../../../support/otlp/line.ts';
import {
  applicationOf,
  createStubLines,
  directoryOf,
  tokenAttribute,
} from '../../../support/otlp/stub-lines.ts';

const nanos = `${Date.now()}000000`;
const span = {
  ...{ traceId: 'b'.repeat(32), spanId: 'b'.repeat(16), name: 's' },
  ...{ startTimeUnixNano: nanos, endTimeUnixNano: nanos },
};

/** A request with a resource for each of these tokens; undefined stands for a resource without one. */
const exportOf = (...tokens: readonly (string | undefined)[]) => ({
  resourceSpans: tokens.map((token) => ({
    resource: {
      attributes: token === undefined ? [] : [{ key: tokenAttribute, value: { stringValue: token } }],
    },
    scopeSpans: [{ spans: [span] }],
  })),
});

const deduplicated = (appId: number): ApplicationSource => ({ ...applicationOf(appId), deduplicate: true });

/** The tokens that are valid at one time: two of application 2, whose first token was another one, and one each of 3 and 4. */
const tokens: Readonly<Record<string, ApplicationSource>> = {
  now: { ...deduplicated(2), identityCredential: 'first' },
  before: { ...deduplicated(2), identityCredential: 'first' },
  third: deduplicated(3),
  fourth: deduplicated(4),
};

type Tokens = {
  /** That are no longer valid. */
  readonly ended?: readonly string[];
  /** That cannot be looked up now. */
  readonly undecided?: readonly string[];
  readonly known?: typeof tokens;
};

/** The name under which an export is published. */
const nameOf = async (
  body: object,
  header: string | undefined,
  { ended = [], undecided = [], known = tokens }: Tokens = {},
): Promise<string | undefined> => {
  let name: string | undefined;
  const lines = createStubLines({
    directory: directoryOf(
      (token) => ([...ended, ...undecided].includes(token) ? undefined : known[token]),
      async (token) => {
        if (undecided.includes(token)) throw new Fault('transient', tooManyLookUps, 'too many');
        return undefined;
      },
    ),
    publish: async ({ sha256Hex }) => {
      name = sha256Hex;
      return false;
    },
  });
  expect(statusOf(await lines.lineOf('traces', 'otlp')(jsonRequest(body, header)))).toBe(200);
  return name;
};

const oldName = async (credential: string, body: object): Promise<string> => {
  const bytes = Buffer.from(JSON.stringify(body));
  return (await requestIdentity({ identityKey: undefined }, `otlp:${credential}`, '', bytes)).sha256Hex;
};

// A retry that has another identity than its first try is stored a second time.
describe('a header that owns no item of an export', () => {
  const body = exportOf('now');

  it('changes no identity, whether its token is valid, has ended, or never was one', async () => {
    const name = await nameOf(body, undefined);
    expect(name).toMatch(/^[0-9a-f]{64}$/);
    expect(await nameOf(body, 'fourth')).toBe(name);
    expect(await nameOf(body, 'fourth', { ended: ['fourth'] })).toBe(name);
    expect(await nameOf(body, 'never')).toBe(name);
  });

  it('changes none of an export with several tokens, also where one of them ends', async () => {
    const several = exportOf('now', 'third');
    const name = await nameOf(several, undefined);
    for (const header of ['now', 'before', 'third', 'fourth', 'never'])
      for (const ended of [[], [header], ['now']])
        expect(await nameOf(several, header, { ended })).toBe(name);
  });

  it('lets no export have more items than the applications of its items allow', async () => {
    const { rules, ...application } = deduplicated(2);
    const limits = { ...rules.traces.limits, itemsMax: 1 };
    const known: typeof tokens = {
      ...tokens,
      now: { ...application, rules: { ...rules, traces: { ...rules.traces, limits } } },
    };
    const statusOfTwo = async (header: string | undefined, ...more: undefined[]) => {
      const lines = createStubLines({ directory: directoryOf((token) => known[token]) });
      const body = exportOf('now', 'now', ...more);
      return statusOf(await lines.lineOf('traces', 'otlp')(jsonRequest(body, header)));
    };
    expect(await statusOfTwo(undefined)).toBe(413);
    expect(await statusOfTwo('fourth')).toBe(413);
    // Here it owns an item, and the larger limit holds.
    expect(await statusOfTwo('fourth', undefined)).toBe(200);
  });

  it('takes no identity away by the policy of its application', async () => {
    const known = { ...tokens, fourth: applicationOf(4) };
    expect(await nameOf(body, 'fourth', { known })).toBe(await nameOf(body, undefined));
    // Here it owns an item.
    expect(await nameOf(exportOf('now', undefined), 'fourth', { known })).toBeUndefined();
  });
});

describe('the first token of an application, in the header of an export', () => {
  const both: typeof tokens = { ...tokens, first: { ...deduplicated(2), identityCredential: 'first' } };
  const unrotated: typeof tokens = { ...tokens, first: deduplicated(2) };
  const mixed = exportOf('third', undefined);
  const withoutItems = {
    resourceSpans: [...exportOf('third').resourceSpans, { resource: { attributes: [] }, scopeSpans: [] }],
  };

  it.each([
    ['with items that have no token', mixed, unrotated],
    ['with a resource without items that has no token', withoutItems, unrotated],
    ['with a later token of its application in all resources', exportOf('now'), both],
  ])('leaves the identity that it gave when it has ended: %s', async (_, body, known) => {
    const name = await nameOf(body, 'first', { known });
    expect(name).toBe(await oldName('first', body));
    expect(await nameOf(body, 'first', { known: both })).toBe(name);
    expect(await nameOf(body, 'first', { known: both, ended: ['first'] })).toBe(name);
  });

  it('leaves the identity that it gave while it cannot be looked up', async () => {
    const body = exportOf('now');
    const name = await nameOf(body, 'first', { known: both });
    expect(await nameOf(body, 'first', { known: both, undecided: ['first'] })).toBe(name);
  });
});

describe('the identity of an export, as programs before had it', () => {
  it.each([
    ['with a token in its header', exportOf(undefined), 'now', 'first'],
    ['with a token in its header that was never rotated', exportOf(undefined), 'third', 'third'],
    ['with a token in its resources', exportOf('now', 'now'), undefined, ''],
    ['with one token in both', exportOf('now'), 'now', 'first'],
    [
      'with two tokens of an application, in its header and its resources',
      exportOf('before'),
      'now',
      'first',
    ],
    ['with items of its header beside others', exportOf('third', undefined), 'now', 'first'],
    ['without resources', { resourceSpans: [] }, 'now', undefined],
  ])('%s', async (_, body, header, credential) => {
    const expected = credential === undefined ? undefined : await oldName(credential, body);
    expect(await nameOf(body, header)).toBe(expected);
  });

  // Both may send the same bytes.
  it('differs by the application of the header where it owns items', async () => {
    const mixed = exportOf('now', undefined);
    expect(await nameOf(mixed, 'third')).not.toBe(await nameOf(mixed, 'fourth'));
  });
});
