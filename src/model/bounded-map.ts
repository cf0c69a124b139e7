/** Sets an entry as the newest one; above `sizeMax` the oldest is forgotten. */
export const setNewest = <K, V>(map: Map<K, V>, key: K, value: V, sizeMax: number): void => {
  map.delete(key);
  map.set(key, value);
  const oldest = map.size > sizeMax ? map.keys().next().value : undefined;
  if (oldest !== undefined) map.delete(oldest);
};
