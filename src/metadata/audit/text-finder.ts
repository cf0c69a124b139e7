/** A part of a text, from the first position up to the second one. */
export type Span = readonly [from: number, to: number];

/** Every character of a JavaScript text is a number below this. */
const codes = 0x1_0000;

/**
 * Finds where these words are in a text: together the spans cover each occurrence, and none touches another. The text is read once, however many words
 * there are (the automaton of Aho and Corasick): a search for each word by itself would be a product of two sizes that a sender
 * chooses.
 */
export const finderOf = (words: Iterable<string>): ((text: string) => Span[]) => {
  const next = new Map<number, number>();
  // By node: where the search goes on if no word continues, and the length of the longest word that ends here.
  const fall: number[] = [0];
  const ends: number[] = [0];

  const step = (from: number, code: number): number => {
    let node = from;
    for (;;) {
      const found = next.get(node * codes + code);
      if (found !== undefined) return found;
      if (node === 0) return 0;
      node = fall[node] ?? 0;
    }
  };

  // All words a character at a time: what a node falls back to is shorter, and so is complete before it.
  let open = [...words].map((word) => ({ word, node: 0 }));
  for (let at = 0; open.length > 0; at++) {
    open = open.filter(({ word }) => word.length > at);
    for (const each of open) {
      const code = each.word.charCodeAt(at);
      const key = each.node * codes + code;
      let child = next.get(key);
      if (child === undefined) {
        const back = each.node === 0 ? 0 : step(fall[each.node] ?? 0, code);
        child = fall.push(back) - 1;
        ends.push(ends[back] ?? 0);
        next.set(key, child);
      }
      if (each.word.length === at + 1) ends[child] = at + 1;
      each.node = child;
    }
  }

  return (text) => {
    const spans: Span[] = [];
    let node = 0;
    for (let at = 0; next.size > 0 && at < text.length; at++) {
      node = step(node, text.charCodeAt(at));
      const length = ends[node] ?? 0;
      if (length === 0) continue;
      // They end in order: one that touches those before it is one span with them, so there are never more spans than text.
      let from = at + 1 - length;
      for (let last = spans.at(-1); last !== undefined && from <= last[1]; last = spans.at(-1)) {
        from = Math.min(from, last[0]);
        spans.pop();
      }
      spans.push([from, at + 1]);
    }
    return spans;
  };
};
