// Events are checked: a metadata process of another version may send something else.

/** Whether the data of an event has these lists. */
export const hasLists = <N extends string>(
  data: unknown,
  ...names: readonly N[]
): data is Readonly<Record<N, readonly unknown[]>> =>
  typeof data === 'object' && data !== null && names.every((name) => Array.isArray(Reflect.get(data, name)));
