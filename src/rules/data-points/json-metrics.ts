import type { ItemsReader } from '../../wire/otlp/types.ts';
import { jsonReaderOf } from '../items/json-items.ts';
import { dataPointRules } from './data-point-rules.ts';

/** OTLP metrics in JSON. */
export const jsonMetrics: ItemsReader = jsonReaderOf(dataPointRules);
