import type { ItemsReader } from '../../wire/otlp/types.ts';
import { jsonReaderOf } from '../items/json-items.ts';
import { spanRules } from './span-rules.ts';

/** OTLP traces in JSON. */
export const jsonTraces: ItemsReader = jsonReaderOf(spanRules);
