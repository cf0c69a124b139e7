import { questdbInstances, type Settings } from './settings.ts';

/** Host and port, without user and password; the names of this machine are one. */
const placeOf = (url: string): string => {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname === 'localhost' || hostname === '[::1]' ? '127.0.0.1' : hostname;
  return `${host}:${port || (protocol === 'https:' ? '443' : '80')}`;
};

/** A warning for each QuestDB server that has several instances: its tables and its disk count once for each. */
export const sharedAddresses = (settings: Settings): string[] => {
  const places = Map.groupBy(questdbInstances(settings), ({ url }) => placeOf(url));
  return [...places].flatMap(([place, instances]) => {
    if (instances.length === 1) return [];
    const names = instances.map(({ name }) => name).join(' and ');
    return `QuestDB instances ${names} are one server, ${place}: new tables are divided among instances that share its disk and its load. Give each server once in TIDEMARK_QUESTDB_URL and TIDEMARK_QUESTDB_URLS, unless tables were placed on both names`;
  });
};
