import type { ItemsReader } from '../../wire/otlp/types.ts';
import { protobufReaderOf } from '../items/protobuf-items.ts';
import { spanRules } from './span-rules.ts';

/** OTLP traces in protobuf. */
export const protobufTraces: ItemsReader = protobufReaderOf(spanRules);
