import type { Rule } from './rules.ts';

// Values of JSON, and of what Python takes for JSON, as they may stand anywhere.

const string: Rule = (grow) => {
  const unit = grow.pick<string>(
    ...([
      'a',
      'a b',
      '\\n',
      '\\u00e9',
      '\\u0000',
      '\\ud800',
      '\\ud83d\\ude00',
      'é',
      '漢',
      '😀',
      '\\\\',
      '\\"',
    ] as const),
    ...(['/', 'a=b,c ', '…', 'token=', 'Bearer ', '0123456789abcdef', '\u2028', 'a.', '#', '"'] as const),
  );
  const text = grow.pick<() => ReturnType<Rule>>(
    () => unit,
    () => ({ repeat: unit }),
    () => ({ repeat: unit, times: grow.count(5000) }),
    () => ({ noise: grow.pick('ab', 'a-z ', '0-9a-f', 'a\\\\', ' ,=') }),
    () => ({ all: [{ repeat: unit, times: grow.count(3000) }, ' …'] }),
  )();
  return { all: ['"', text, grow.chance(40) ? '' : '"'] };
};

const number: Rule = (grow) =>
  grow.pick<() => ReturnType<Rule>>(
    () =>
      grow.pick('0', '1', '-0', '12.5', '1e400', '-1e-400', '5e-324', '1.7976931348623157e308', '#', '0.#'),
    () =>
      grow.pick(
        '9007199254740993',
        '0.1000000000000000055511151231257827',
        '123456789012345678',
        '1E+2',
        '2.50',
      ),
    () => ({ repeat: grow.pick('9', '1', '0', '17'), times: grow.count(4000) }),
    () => ({ all: ['0.', { repeat: grow.pick('9', '1', '0'), times: grow.count(4000) }] }),
    () => ({ all: ['0.', { repeat: '3' }] }),
    () => ({ all: ['1e', { repeat: '9', times: grow.count(400) }] }),
    () => ({
      all: [{ noise: '1-9', bytes: 1 + grow.random(18) }, '.', { noise: '1-9', bytes: 1 + grow.random(18) }],
    }),
    () => grow.pick('NaN', 'Infinity', '-Infinity'),
  )();

const name: Rule = (grow) =>
  grow.pick<() => ReturnType<Rule>>(
    () => '"k"',
    () => '"k#"',
    () => '"#"',
    () => '"\\u006b#"',
    () => '"__proto__"',
    () => ({ all: ['"', { repeat: 'n', times: grow.count(2000) }, '"'] }),
    () => ({ all: ['"', { repeat: 'n', times: grow.count(200) }, '#"'] }),
    () => ({ all: ['"', { noise: 'a-z_', bytes: 1 + grow.random(100) }, '"'] }),
    () => '""',
  )();

const member: Rule = (grow) => ({
  all: [grow.of('name'), grow.chance(10) ? ' : ' : ':', grow.of('value')],
});

const blank: Rule = (grow) => ({ repeat: grow.pick(' ', '\n', '\t', '\r\n '), times: grow.count(50_000) });

const value: Rule = (grow) =>
  grow.pick<() => ReturnType<Rule>>(
    () => grow.of('number'),
    () => grow.of('number'),
    () => grow.of('string'),
    () => grow.of('string'),
    () => grow.pick('null', 'true', 'false', '{}', '[]', '""', '[[]]', '{"":{}}', '[0]'),
    () => grow.pick('NaN', 'Infinity', '-Infinity', 'nan', '', '[,]', '{,}', '01', '"'),
    () => ({ all: ['[', grow.many('value'), ']'] }),
    () => ({ all: ['[', grow.many('value'), grow.pick(',', ',0', ',NaN', ',{}', ''), ']'] }),
    () => ({ all: ['{', grow.many('member'), '}'] }),
    () => ({ all: ['{', grow.many('member'), grow.pick(',', ',"k":0', ',"z":NaN', ''), '}'] }),
    () => ({
      nest: grow.pick(
        ['[', ']'],
        ['{"a":', '}'],
        ['{"k#":', '}'],
        ['[0,', ']'],
        ['[', ',0]'],
        ['{"a":', ',"a":1}'],
      ),
      of: grow.of('value'),
    }),
    () => ({
      nest: grow.pick(['[', ']'], ['{"a":', '}'], ['[{"a":1},', ']']),
      of: grow.of('value'),
      depth: grow.count(9000),
    }),
    () => ({ all: [grow.of('blank'), grow.of('value')] }),
  )();

export const jsonRules = { string, number, name, member, blank, value };
