import type { DataSource } from '../../directory/records.ts';

/**
 * The space of a business: above 0 the space of that number, 0 all of them, below 0 the given space, whose type is the part before
 * `__`.
 */
export const spaceOf = (
  bizId: number,
  givenUid: string,
): Pick<DataSource, 'space_type_id' | 'space_uid' | 'is_platform_data_id'> => {
  if (bizId === 0) return { space_type_id: 'all', space_uid: 'all__0', is_platform_data_id: true };
  if (bizId > 0) {
    return { space_type_id: 'moncc', space_uid: `moncc__${bizId}`, is_platform_data_id: false };
  }
  const [type = ''] = givenUid.split('__');
  return { space_type_id: type, space_uid: givenUid, is_platform_data_id: false };
};
