import type { ItemsReader } from '../../wire/otlp/types.ts';
import { protobufReaderOf } from '../items/protobuf-items.ts';
import { dataPointRules } from './data-point-rules.ts';

/** OTLP metrics in protobuf. */
export const protobufMetrics: ItemsReader = protobufReaderOf(dataPointRules);
