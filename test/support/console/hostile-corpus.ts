/** A long text has its end in view only after "more". */
const longLength = 10_000;

/**
 * What a sender may write to reach a reader of the console: markup that would become an element (each names `x-hostile` or
 * runs `alert`), formulas of spreadsheets, names of JavaScript's own properties, and characters that hide or turn others.
 */
export const hostileTexts: readonly string[] = [
  '<script>alert("script")</script><x-hostile>',
  '"><img src=x onerror=alert("img")><x-hostile>',
  "'><svg onload=alert('svg')><x-hostile>",
  '</title></textarea></select></table><iframe src=http://elsewhere.invalid/></iframe><x-hostile>',
  '<a href="javascript:alert(1)">http://elsewhere.invalid/</a>',
  'javascript:alert("address")',
  '&lt;img src=x onerror=alert("entity")&gt;',
  '{{alert("template")}}#{alert(1)}',
  '__proto__',
  'constructor',
  'toString',
  "=cmd|' /C calc'!A0",
  '+1+cmd',
  '-1+cmd',
  '@SUM(A1:A9)',
  '\u{1f469}\u200d\u{1f4bb}\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}\u2764\ufe0f',
  '\u202egnp.exe\u202c \u2066isolated\u2069',
  'zero\u200bwidth\u00ad\ufeff\u2060',
  `${'long <x-hostile> '.repeat(longLength / 17)}end`,
];

/** These have controls, which a receiver may refuse where it takes the others. */
export const hostileControls: readonly string[] = [
  '\u001b[31mred\u001b]8;;http://elsewhere.invalid/\u0007link',
  'nul\u0000end',
  'first\r\nSet-Cookie: second\tthird\u0085\u2028',
  '\t=1+1',
];

/** Of a field of a request: bytes above 0x7e as a client that cares for nothing sends them. */
export const hostileField = Buffer.from(
  '=cmd <img src=x onerror=alert("agent")><x-hostile> \u202egnp \u{1f480}',
).toString('latin1');

/**
 * In a page: what became of hostile texts that ought to have stayed text. Elements that markup of theirs would have made,
 * handlers and addresses in attributes, ids and classes with their characters, and raw characters that nobody sees, in texts
 * and in what is read to the blind.
 */
export const findHostileTraces = String.raw`(() => {
  const found = [];
  const unseen = /[\p{Cf}\p{Zl}\p{Zp}\p{Cs}[\p{Cc}--[\n\t]]]/v;
  for (const element of document.querySelectorAll('*')) {
    const name = element.localName;
    if (['x-hostile', 'iframe', 'img', 'object', 'embed', 'base'].includes(name))
      found.push('element ' + name);
    if (name === 'script' && element.text !== '') found.push('script ' + element.text);
    for (const { name: key, value } of element.attributes) {
      if (/^on/.test(key) || key === 'srcdoc' || key === 'style' && /hostile|alert/.test(value)) found.push('attribute ' + key);
      if (['href', 'src', 'action', 'xlink:href'].includes(key)) {
        const address = new URL(value, location.href);
        if (address.origin !== location.origin && address.protocol !== 'data:') found.push(key + ' ' + value);
      }
      if (['id', 'class', 'for', 'aria-controls', 'aria-labelledby', 'name'].includes(key) && /[<>=]|__proto__|alert/.test(value))
        found.push(key + ' ' + value);
      if (['aria-label', 'title', 'alt', 'placeholder', 'aria-valuetext', 'label'].includes(key) && unseen.test(value))
        found.push('unseen character in ' + key + ' ' + JSON.stringify(value));
    }
  }
  const texts = document.createTreeWalker(document, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_COMMENT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode())
    if (unseen.test(node.data) && node.parentElement?.localName !== 'style')
      found.push('unseen character in ' + node.parentElement?.localName + ' ' + JSON.stringify(node.data.slice(0, 80)));
  if (unseen.test(document.title)) found.push('title ' + document.title);
  if (Object.keys(Object.prototype).length > 0) found.push('a property of every object');
  return [...new Set(found)];
})()`;
