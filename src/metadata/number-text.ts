import { z } from 'zod';

/** A number in a URL, where all is text of this form; `why` says what another text should be. */
export const numberText = <S extends z.ZodType<number, number>>(form: RegExp, why: string, schema: S) =>
  z.string().regex(form, why).transform(Number).pipe(schema);

/** A flag in a URL. `schema` documents it. */
export const flagText = (schema = z.boolean()) =>
  z
    .enum(['true', 'false'], 'must be true or false')
    .transform((text) => text === 'true')
    .pipe(schema);
