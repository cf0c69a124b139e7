import type { ItemsReader } from '../../wire/otlp/types.ts';
import { jsonReaderOf } from '../items/json-items.ts';
import { logRules } from './log-rules.ts';

/** OTLP logs in JSON. */
export const jsonLogs: ItemsReader = jsonReaderOf(logRules);
