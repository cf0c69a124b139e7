import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { doubleText, escapeTag, findRow, quoteText, uidOfRow } from '../../../src/wire/line-protocol.ts';
import { always, trickyText } from '../../support/properties.ts';

const special = ' ,=\\\n\r\t"aä漢';

/** Reads an escaped tag up to the first character that would end it, the way a line protocol reader does. */
const readTag = (line: string): { text: string; rest: string } => {
  let text = '';
  for (let index = 0; index < line.length; index++) {
    const character = line[index] ?? '';
    if (character === '\\') text += line[++index] ?? '';
    else if (' ,=\n\r'.includes(character)) return { text, rest: line.slice(index) };
    else text += character;
  }
  return { text, rest: '' };
};

describe('an escaped tag', () => {
  // A value that ends its own tag would invent columns, or rows, out of what a sender typed.
  it('is read back whole, and ends where it ends', () => {
    always(
      fc.property(trickyText(special), fc.constantFrom(' f=1 5\n', ',b=x f=1 5\n', '=x'), (text, after) => {
        expect(readTag(escapeTag(text) + after)).toEqual({ text, rest: after });
      }),
      1000,
    );
  });

  it.each([
    ['nothing special', 'plain-ä:"x"', 'plain-ä:"x"'],
    ['a blank', 'a b', 'a\\ b'],
    ['comma and equals sign', 'a,b=c', 'a\\,b\\=c'],
    ['a backslash at its end', 'c:\\', 'c:\\\\'],
    ['line ends', 'a\nb\rc', 'a\\\nb\\\rc'],
  ])('escapes %s', (_, text, escaped) => {
    expect(escapeTag(text)).toBe(escaped);
  });
});

describe('quoted text', () => {
  it('is read back whole', () => {
    always(
      fc.property(trickyText('"\\a,= '), (text) => {
        const quoted = quoteText(text);
        expect(quoted.slice(1, -1).replace(/\\(.)/gsu, '$1')).toBe(text);
        expect(/^"(?:[^"\\]|\\.)*"$/su.test(quoted)).toBe(true);
      }),
    );
  });
});

describe('the rows of a body', () => {
  /** A row as the receiver writes it: table, tags, a number, more dimensions as JSON text, uid, time. */
  const row = fc
    .tuple(trickyText(special), trickyText(special), fc.dictionary(trickyText(special), trickyText(special)))
    .map(
      ([target, value, more]) =>
        `t.__default__,target=${escapeTag(target)},d=${escapeTag(value)} ` +
        `f=1.5,more_dimensions=${quoteText(JSON.stringify(more))},uid=7i 1700000000000\n`,
    );

  // QuestDB refuses a row by its number: one line feed miscounted dead-letters a good row and sends the bad one again
  // without end.
  it('are found by their numbers, with any line feeds and backslashes in them', () => {
    always(
      fc.property(fc.array(row, { maxLength: 8 }), (rows) => {
        const body = Buffer.from(rows.join(''));
        const found = rows.map((_, index) => {
          const at = findRow(body, index + 1);
          return at === undefined ? undefined : body.toString('utf8', at.start, at.end);
        });
        expect(found).toEqual(rows);
        expect(findRow(body, rows.length + 1)).toBeUndefined();
      }),
    );
  });

  it('end where an escaped backslash ends, and not where a line feed is escaped', () => {
    const body = Buffer.from('a\\\\\nb\\\nb\\\\\\\nb\nc\n');
    const rows = [1, 2, 3, 4].map((number) => {
      const at = findRow(body, number);
      return at === undefined ? undefined : body.toString('utf8', at.start, at.end);
    });
    expect(rows).toEqual(['a\\\\\n', 'b\\\nb\\\\\\\nb\n', 'c\n', undefined]);
  });

  it('are not found in a body without any', () => {
    expect(findRow(new Uint8Array(), 1)).toBeUndefined();
    expect(findRow(Buffer.from('t f=1'), 1)).toBeUndefined();
  });
});

describe('the text of a double', () => {
  it('reads back to the same bits', () => {
    always(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(Object.is(Number(doubleText(value)), value)).toBe(true);
      }),
      2000,
    );
  });

  it.each([
    [0, '0'],
    [-0, '-0'],
    [0.1, '0.1'],
    [5e-324, '5e-324'],
    [1e21, '1e+21'],
    [Number.MAX_VALUE, '1.7976931348623157e+308'],
    [Number.MAX_SAFE_INTEGER + 1, '9007199254740992'],
  ])('of %d is %s', (value, text) => {
    expect(doubleText(value)).toBe(text);
  });
});

describe('the uid of a row', () => {
  // A sender's text that looks like a uid would name another row in the dead letters.
  it('is its last field, for any texts before it', () => {
    const texts = fc.oneof(trickyText(special), fc.constantFrom(' uid=5i 1', ',uid=5i 1\n', 'uid=5i'));
    always(
      fc.property(texts, texts, fc.nat(), (tag, text, uid) => {
        const row = `t,host=${escapeTag(tag)} up=1,more_dimensions=${quoteText(text)},uid=${uid}i 1700000000000\n`;
        expect(uidOfRow(row)).toBe(String(uid));
        expect(uidOfRow(row.trimEnd())).toBe(String(uid));
      }),
      500,
    );
    expect(uidOfRow('t up=1 1\n')).toBeUndefined();
  });
});
