import { z } from 'zod';
import { type Packing, pack, packingSchema } from './packing.ts';
import { type Part, partSchema } from './parts.ts';
import { render } from './render.ts';

/** The reader of the body: `otlp` reads spans. `inflate`: none, it is inflated alone. */
export const targetNames = [
  'push',
  'otlp-json',
  'otlp-protobuf',
  'logs-json',
  'logs-protobuf',
  'otel-metrics-json',
  'otel-metrics-protobuf',
  'inflate',
] as const;
export type TargetName = (typeof targetNames)[number];
export type OtlpTargetName = Exclude<TargetName, 'push' | 'inflate'>;

/** A small description of a body, from which it is made at any size. */
export const recipeSchema = z.strictObject({
  target: z.enum(targetNames),
  /** Of the table that a push is for. */
  layout: z.enum(['wide', 'narrow']).optional(),
  packing: packingSchema,
  body: partSchema,
});

export type Recipe = z.infer<typeof recipeSchema> & { readonly body: Part; readonly packing: Packing };

/** A body of about this size before it is packed. */
export const bodyOf = ({ body }: Recipe, size: number): Buffer => render(body, size);

/** A body as it is read, and as it travels. */
export type Made = { readonly content: Buffer; readonly wire: Buffer };

export const make = (recipe: Recipe, size: number): Made => {
  const content = bodyOf(recipe, size);
  return { content, wire: pack(content, recipe.packing) };
};
