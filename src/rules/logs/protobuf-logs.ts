import type { ItemsReader } from '../../wire/otlp/types.ts';
import { protobufReaderOf } from '../items/protobuf-items.ts';
import { logRules } from './log-rules.ts';

/** OTLP logs in protobuf. */
export const protobufLogs: ItemsReader = protobufReaderOf(logRules);
