import { z } from 'zod';
import { itemsOf, type Letter, type LetterFilter, letterPipelines } from '../../dead-letters/dead-letter.ts';
import type { letterSchema } from '../answers/dead-letters.ts';
import { numberText } from '../number-text.ts';
import { pageQuery } from '../records/listing.ts';
import { reasonFilter } from './reason-filter.ts';

/** A dead letter in answers and in the audit. */
export const view = (letter: Letter): z.output<typeof letterSchema> => {
  const { sequence, at, header, bytes } = letter;
  return {
    sequence,
    at: Math.floor(at / 1000),
    reason: header.reason,
    error: header.error,
    data_id: header.dataId ?? null,
    app_id: header.appId ?? null,
    table: header.table ?? null,
    uid: header.uid ?? null,
    items: itemsOf(letter),
    redrives: header.redrive,
    bytes: bytes.length,
  };
};

/** Of the stream that it came from. */
export const pipelineFilter = z
  .enum(letterPipelines, `must be one of ${letterPipelines.join(', ')}`)
  .optional()
  .meta({ description: 'Only those of this pipeline' });

const integerText = numberText(/^\d{1,12}$/, 'must be an integer', z.int().min(0).max(999_999_999_999));

const filters = {
  pipeline: pipelineFilter,
  reason: reasonFilter,
  data_id: integerText.optional(),
  app_id: integerText.optional(),
  table: z.string().max(256).optional(),
  since: integerText.optional().meta({ description: 'Dead-lettered at or after this time, Unix seconds' }),
  until: integerText.optional().meta({ description: 'Dead-lettered before this time, Unix seconds' }),
};

export const listQuery = z.strictObject({ ...pageQuery, ...filters });

/** The filter that a query or a body asks for. */
export const filterOf = (asked: z.output<z.ZodObject<typeof filters>>): LetterFilter => ({
  pipeline: asked.pipeline,
  reason: asked.reason,
  dataId: asked.data_id,
  appId: asked.app_id,
  table: asked.table,
  since: asked.since === undefined ? undefined : asked.since * 1000,
  until: asked.until === undefined ? undefined : asked.until * 1000,
});
