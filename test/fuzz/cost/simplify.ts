import { type Part, type Place, placesOf } from './parts.ts';
import type { Recipe } from './recipe.ts';

const triesMax = 60;

/** Simpler parts that may replace one. */
const simplerParts = (part: Part): Part[] => {
  if (typeof part === 'string') return part.length > 1 ? ['', part.slice(0, 1)] : part === '' ? [] : [''];
  const { is: _, share: __, ...bare } = part;
  const inner: Part[] = ['', ...('repeat' in part ? [part.repeat] : []), ...('of' in part ? [part.of] : [])];
  if (!('all' in part)) return inner;
  const { all } = part;
  if (all.length === 1) return [all[0] ?? ''];
  return [...inner, ...all, ...all.map((_each, index): Part => ({ ...bare, all: all.toSpliced(index, 1) }))];
};

const lengthOf = (part: Part): number => JSON.stringify(part).length;

/** The part without what only the search needs: rules and parts of one part. */
const tidy = (part: Part): Part => {
  if (typeof part === 'string') return part;
  const { is: _, ...bare } = part;
  if ('repeat' in bare) return { ...bare, repeat: tidy(bare.repeat) };
  if ('of' in bare) return { ...bare, of: tidy(bare.of) };
  if (!('all' in bare)) return bare;
  if (bare.between !== undefined) return { ...bare, all: bare.all.map(tidy) };
  const all = joined(bare.all.map(tidy).flatMap((each) => (isPlainList(each) ? each.all : [each])));
  const [only] = all;
  return all.length === 1 && only !== undefined && bare.share === undefined ? only : { ...bare, all };
};

/** Texts behind one another as one. */
const joined = (parts: readonly Part[]): Part[] => {
  const result: Part[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    if (typeof part === 'string' && typeof last === 'string') result[result.length - 1] = last + part;
    else result.push(part);
  }
  return result;
};

const isPlainList = (part: Part): part is { readonly all: readonly Part[] } =>
  typeof part !== 'string' && 'all' in part && part.between === undefined && part.share === undefined;

/** A recipe without its irrelevant parts: the rest is as expensive, by `isAsDear`. */
export const simplified = async (
  recipe: Recipe,
  isAsDear: (recipe: Recipe) => Promise<boolean>,
): Promise<Recipe> => {
  let best = { ...recipe, body: tidy(recipe.body) };
  let tries = 0;
  const simplifyAt = async ({ part, with: rebuilt }: Place): Promise<boolean> => {
    for (const simpler of simplerParts(part)) {
      if (tries >= triesMax) return false;
      const other = { ...best, body: tidy(rebuilt(simpler)) };
      if (lengthOf(other.body) >= lengthOf(best.body)) continue;
      tries++;
      if (!(await isAsDear(other))) continue;
      best = other;
      return true;
    }
    return false;
  };
  for (let isSimpler = true; isSimpler; ) {
    isSimpler = false;
    // The largest parts first.
    const places = placesOf(best.body).toSorted((a, b) => lengthOf(b.part) - lengthOf(a.part));
    for (const place of places) {
      isSimpler = await simplifyAt(place);
      if (isSimpler) break;
    }
  }
  return best;
};
