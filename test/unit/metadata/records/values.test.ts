import { describe, expect, it } from 'vitest';
import { toProblem } from '../../../../src/metadata/problem.ts';
import { spaceOf } from '../../../../src/metadata/records/spaces.ts';
import { dataIdOfTableId, newToken, tableIdOf } from '../../../../src/metadata/records/values.ts';
import { unknownInstance } from '../../../../src/metadata/tables/placement.ts';
import { Fault } from '../../../../src/model/fault.ts';
import { quoteIdentifier, quoteLiteral } from '../../../../src/stores/questdb/sql.ts';

describe('table_id', () => {
  it.each([
    [2, '2_mon_time_series_1500001.__default__'],
    [0, 'mon_time_series_1500001.__default__'],
    [-3, '-3_mon_time_series_1500001.__default__'],
  ])('of business %i is %s', (bizId, tableId) => {
    expect(tableIdOf(bizId, 'mon', 1_500_001)).toBe(tableId);
    expect(dataIdOfTableId(tableId)).toBe(1_500_001);
  });

  it.each(['', 'otel_traces', '2_mon_time_series_1500001.cpu', '2_mon_time_series_x.__default__'])(
    'is not %j',
    (name) => expect(dataIdOfTableId(name)).toBeUndefined(),
  );
});

describe('space', () => {
  it.each([
    [2, '', { space_type_id: 'moncc', space_uid: 'moncc__2', is_platform_data_id: false }],
    [0, '', { space_type_id: 'all', space_uid: 'all__0', is_platform_data_id: true }],
    [-3, 'bcs__a__b', { space_type_id: 'bcs', space_uid: 'bcs__a__b', is_platform_data_id: false }],
  ])('of business %i', (bizId, given, expected) => expect(spaceOf(bizId, given)).toEqual(expected));
});

describe('token', () => {
  it('is 32 lowercase hex characters and never the same', () => {
    const tokens = new Set(Array.from({ length: 1000 }, newToken));
    expect(tokens.size).toBe(1000);
    for (const token of tokens) expect(token).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe('SQL text', () => {
  it('quotes names and refuses the characters that no quoting can carry', () => {
    expect(quoteIdentifier('2_mon_time_series_1500001.__default__')).toBe(
      '"2_mon_time_series_1500001.__default__"',
    );
    expect(quoteLiteral("it's")).toBe("'it''s'");
    for (const name of ['', 'a"b', 'a\u0000b', 'a\nb']) {
      expect(() => quoteIdentifier(name)).toThrow(expect.objectContaining({ code: 'questdb_rejected' }));
    }
  });
});

describe('problem', () => {
  // A 5xx asks for a retry: bad input must never get one, and a defect of Tidemark must not look like bad input.
  it.each([
    [new Fault('permanent', 'name_taken', 'x'), 409],
    [new Fault('permanent', 'not_found', 'x'), 404],
    [new Fault('transient', 'questdb_unavailable', 'x'), 503],
    [new Fault('transient', 'nats_unavailable', 'x'), 503],
    [new Fault('permanent', 'questdb_rejected', 'x'), 500],
    [new Fault('internal', 'record_invalid', 'x'), 500],
    [new TypeError('x'), 500],
  ])('of %s has the status that its kind asks for', (error, status) => {
    expect(toProblem(error)).toMatchObject({ status, detail: 'x' });
  });

  // Repeated as it is, it would be refused until the setting is changed.
  it('of an instance that the settings lack names the setting, and asks for no repeat in a moment', () => {
    const fault = unknownInstance('b', 'table t');
    // The keeper goes on, so that its work is done once the setting is back.
    expect(fault.kind).toBe('transient');
    const { status, remedy } = toProblem(fault);
    expect([status, remedy]).toEqual([503, expect.stringContaining('TIDEMARK_QUESTDB_URLS')]);
    expect(remedy).not.toContain('in a moment');
  });
});
