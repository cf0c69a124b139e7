import { describe, expect, it } from 'vitest';
import { toProblem } from '../../../../src/metadata/problem.ts';
import { newApplication, newDataSource } from '../../../../src/metadata/records/values.ts';
import { rotateApplicationToken, rotateDataSourceToken } from '../../../../src/metadata/reports/rotation.ts';
import { Fault } from '../../../../src/model/fault.ts';
import { createMemoryRecords } from '../../../support/metadata/memory-records.ts';

const by = { operator: 'ann', revision: undefined };

const source = async () => {
  const { records } = createMemoryRecords();
  const { value } = await records.dataSources.create(
    1,
    newDataSource({
      ...{ mon_data_id: 1, mon_biz_id: 2, data_name: '2_custom_time_series_demo', space_uid: '' },
      ...{ data_description: '', etl_config: 'mon_standard_v2_time_series', is_custom_source: true },
      ...{ custom_label: null, source_system: 'unknown', operator: 'ann' },
    }),
  );
  return {
    tokens: records.dataSources,
    previous: records.previousTokens,
    used: value.token,
    rotate: () => rotateDataSourceToken(records, 1, 3_600, by),
  };
};

const application = async () => {
  const { records } = createMemoryRecords();
  const used = 'a'.repeat(32);
  const request = { mon_biz_id: 2, app_name: 'shop', max_rate: 0, operator: 'ann' };
  await records.applications.create(1, newApplication(1, used, request));
  return {
    tokens: records.applications,
    previous: records.previousApplicationTokens,
    used,
    rotate: () => rotateApplicationToken(records, 1, 3_600, by),
  };
};

describe.each([
  ['a data source', source],
  ['an application', application],
])('the token of %s that all senders use, when NATS stored a rotation and its answer was lost', (_, open) => {
  it('is the previous one, and the call answers with the new one', async () => {
    const { tokens, previous, used, rotate } = await open();
    tokens.losesNext = 'answer';
    const { value } = await rotate();
    expect(value.token).not.toBe(used);
    expect((await tokens.get(1))?.value.token).toBe(value.token);
    expect((await previous.get(1))?.value.token).toBe(used);
  });

  it('is not at risk where the record cannot be read: the refusal asks to reveal the token before a repeat', async () => {
    const { tokens, previous, used, rotate } = await open();
    tokens.losesNext = 'connection';
    const error: unknown = await rotate().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(toProblem(error)).toMatchObject({
      code: 'rotation_unknown',
      // A 503 promises that the same call may be sent again.
      status: 409,
      remedy: expect.stringContaining('Reveal the token'),
    });
    expect((await previous.get(1))?.value.token).toBe(used);
  });
});

it('the previous token of an application stays valid where a rotation fails before its new token is written, and NATS stays away', async () => {
  const { records } = createMemoryRecords();
  const request = { mon_biz_id: 2, app_name: 'shop', max_rate: 0, operator: 'ann' };
  await records.applications.create(1, newApplication(1, 'a'.repeat(32), request));
  await rotateApplicationToken(records, 1, 3_600, by);
  const before = (await records.previousApplicationTokens.get(1))?.value;
  const away = new Fault('transient', 'nats_unavailable', 'no answer');
  let isAway = false;
  const failing = {
    ...records,
    point: async () => {
      isAway = true;
      throw away;
    },
    previousApplicationTokens: {
      ...records.previousApplicationTokens,
      update: (...given: Parameters<typeof records.previousApplicationTokens.update>) =>
        isAway ? Promise.reject(away) : records.previousApplicationTokens.update(...given),
    },
  };
  await expect(rotateApplicationToken(failing, 1, 60, by)).rejects.toThrow(away);
  expect((await records.previousApplicationTokens.get(1))?.value).toEqual(before);
});
