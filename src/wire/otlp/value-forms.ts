// Forms of values that may be as long as a body. Without regular expressions, which never read a text without a limit.

const base64Codes = new Uint8Array(128);
for (const letter of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_')
  base64Codes[letter.charCodeAt(0)] = 1;

const equals = 0x3d;

/** Whether this is base64 of either alphabet, padded or not. */
export const isBase64 = (text: string): boolean => {
  let end = text.length;
  while (end > 0 && text.length - end < 2 && text.charCodeAt(end - 1) === equals) end--;
  if (end % 4 === 1) return false;
  for (let at = 0; at < end; at++) if (base64Codes[text.charCodeAt(at)] !== 1) return false;
  return true;
};

const digitsEnd = (text: string, from: number): number => {
  let at = from;
  while (text.charCodeAt(at) >= 0x30 && text.charCodeAt(at) <= 0x39) at++;
  return at;
};

/** Whether this is a number as JSON has it, zeros in front allowed. */
export const isDecimalNumber = (text: string): boolean => {
  const start = text.startsWith('-') ? 1 : 0;
  let at = digitsEnd(text, start);
  if (at === start) return false;
  if (text[at] === '.') {
    const fraction = at + 1;
    at = digitsEnd(text, fraction);
    if (at === fraction) return false;
  }
  if (text[at] === 'e' || text[at] === 'E') {
    const exponent = at + (text[at + 1] === '+' || text[at + 1] === '-' ? 2 : 1);
    at = digitsEnd(text, exponent);
    if (at === exponent) return false;
  }
  return at === text.length;
};
