import { describe, expect, it } from 'vitest';
import { readerLimits } from '../../../src/embedded/clickhouse-config.ts';
import { readDocument } from '../../support/docs-code.ts';

const text = readDocument('docs/querying.md').replaceAll(/\s+/g, ' ');

describe('docs/querying.md', () => {
  it('has the limits of the reader of ClickHouse', () => {
    const grouped = (value: number): string => value.toLocaleString('en-US');
    const gigabytes = (value: number): string => `${value / 1e9} GB`;
    const limits = readerLimits;
    expect(text).toContain(
      `ends at ${limits.max_execution_time} s, ${grouped(limits.max_rows_to_read)} rows read, ` +
        `${gigabytes(limits.max_memory_usage)} of memory, ` +
        `${gigabytes(limits.max_temporary_data_on_disk_size_for_query)} of temporary files, ` +
        `${grouped(limits.max_result_rows)} rows or ${gigabytes(limits.max_result_bytes)} of result; ` +
        `${limits.max_concurrent_queries_for_user} of them run at once, with ` +
        `${gigabytes(limits.max_temporary_data_on_disk_size_for_user)} of temporary files`,
    );
  });
});
