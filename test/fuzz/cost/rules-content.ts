import type { Packing } from './packing.ts';
import type { Grow, Rule, Rules } from './rules.ts';

// What is packed, and how: content that is easy or hard to compress, and packings as no compressor would choose them.

const letters = 'a-z';
const allBytes = '\u0000-\u00ff';

const content: Rule = (grow) =>
  grow.pick<() => ReturnType<Rule>>(
    () => ({ noise: grow.pick('ab', 'abcd', letters, `${letters}{}":,`, allBytes) }),
    () => ({ noise: `${'a'.repeat(2 ** grow.random(9))}${grow.pick(letters, allBytes)}` }),
    () => ({ repeat: grow.pick('0', '{},', '"k":1,', '{"metrics":{"cpu":1}},', '#,', '"k#":#,') }),
    () => ({ repeat: { all: [{ noise: letters, bytes: 1 + grow.random(20) }, '","'] } }),
    () => ({ repeat: { all: [grow.of('content'), grow.of('content')] }, each: grow.count(30_000) }),
    () => ({ all: [grow.of('content'), grow.of('content')] }),
  )();

export const contentRules: Rules = {
  all: { body: content, content },
  leaf: (grow) => grow.pick({ repeat: '0' }, { noise: letters }),
};

const maybe = <T>(grow: Grow, name: string, value: () => T): Record<string, T> =>
  grow.chance(2) ? { [name]: value() } : {};

/** Some packing, usual or not. */
export const anyPacking = (grow: Grow): Packing => {
  const as = grow.pick('gzip', 'deflate', 'zstd');
  if (as === 'zstd') {
    return {
      as,
      ...maybe(grow, 'level', () => grow.pick(-50, -5, 1, 3, 9)),
      ...maybe(grow, 'memberBytes', () => 63 + grow.count(100_000)),
      ...maybe(grow, 'emptyMembers', () => grow.random(20)),
      ...maybe(grow, 'skippable', () => grow.random(40)),
      ...(grow.chance(3) ? { checksum: true } : {}),
    };
  }
  const members =
    as === 'gzip'
      ? {
          ...maybe(grow, 'memberBytes', () => 63 + grow.count(100_000)),
          ...maybe(grow, 'emptyMembers', () => grow.random(20)),
        }
      : {};
  if (grow.chance(2))
    return {
      as,
      ...members,
      ...maybe(grow, 'level', () => grow.random(10)),
      ...maybe(grow, 'strategy', () => grow.random(5)),
    };
  return {
    as,
    ...members,
    blocks: grow.pick('stored', 'fixed', 'dynamic'),
    blockBytes: grow.count(16_000),
    ...maybe(grow, 'emptyBlocks', () => grow.random(8)),
  };
};
