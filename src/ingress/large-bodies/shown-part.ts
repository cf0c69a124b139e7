const textMax = 2048;
const membersMax = 64;
const depthMax = 8;

/** The part of a JSON value that a sample shows: long texts, many members and deep values are truncated. */
export const shownPart = (value: unknown, depth = 0): unknown => {
  if (typeof value === 'string') return value.length > textMax ? `${value.slice(0, textMax)}…` : value;
  if (typeof value !== 'object' || value === null) return value;
  if (depth === depthMax) return '…';
  if (Array.isArray(value)) return value.slice(0, membersMax).map((item) => shownPart(item, depth + 1));
  const part: [string, unknown][] = [];
  for (const name in value) {
    if (part.length === membersMax) break;
    const shownName = name.length > textMax ? `${name.slice(0, textMax)}…` : name;
    part.push([shownName, shownPart(Reflect.get(value, name), depth + 1)]);
  }
  return Object.fromEntries(part);
};
