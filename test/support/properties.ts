import fc from 'fast-check';
import { z } from 'zod';

/** Fixed, so that a run can be repeated: fast-check prints it, with the path to the case, when a property fails. */
const seed = 20_261_121;

/** How many times as many cases as usual are generated: `make test-random` asks for more. */
export const moreRuns = z.coerce
  .number()
  .int()
  .positive()
  .default(1)
  .parse(process.env['RUNS'] || undefined);

/** Checks that a property holds for this many generated cases, always the same ones. */
export const always = <Ts>(property: fc.IProperty<Ts>, runs = 300): void => {
  fc.assert(property, { seed, numRuns: runs * moreRuns });
};

/** The same for a property that waits. */
export const alwaysAsync = async <Ts>(property: fc.IAsyncProperty<Ts>, runs = 300): Promise<void> => {
  await fc.assert(property, { seed, numRuns: runs * moreRuns });
};

/** Text of any code points, line ends and control characters among them, unpaired surrogates not (UTF-8 has none). */
export const anyText = (lengthMax = 20): fc.Arbitrary<string> =>
  fc.string({ unit: 'binary', maxLength: lengthMax });

/** Text in which what formats treat specially is frequent. */
export const trickyText = (special: string, lengthMax = 12): fc.Arbitrary<string> =>
  fc.string({
    unit: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...special) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
    ),
    maxLength: lengthMax,
  });

/** A name as a metric or a dimension may have it. */
export const validName = (lengthMax = 100): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom(...'abcXYZ_'),
      fc.string({ unit: fc.constantFrom(...'abcdxyzABCDXYZ0189_'), maxLength: lengthMax - 1 }),
    )
    .map(([first, rest]) => first + rest);
