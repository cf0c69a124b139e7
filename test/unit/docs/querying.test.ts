import { describe, expect, it } from 'vitest';
import { readerLimits } from '../../../src/embedded/clickhouse-config.ts';
import { readDocument } from '../../support/docs-code.ts';

const text = readDocument('docs/querying.md').replaceAll(/\s+/g, ' ');

describe('docs/querying.md', () => {
  it('has the limits of the reader of ClickHouse', () => {
    const grouped = (value: number): string => value.toLocaleString('en-US');
    const { max_execution_time, max_rows_to_read, max_memory_usage, max_result_rows, max_result_bytes } =
      readerLimits;
    expect(text).toContain(
      `ends at ${max_execution_time} s, ${grouped(max_rows_to_read)} rows read, ${max_memory_usage / 1e9} GB of memory, ` +
        `${grouped(max_result_rows)} rows or ${max_result_bytes / 1e9} GB of result; ` +
        `${readerLimits.max_concurrent_queries_for_user} of them run at once`,
    );
  });
});
