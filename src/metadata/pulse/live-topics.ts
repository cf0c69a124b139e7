import type { DropFilter } from '../../outcomes/drops.ts';
import { fieldFault } from '../problem.ts';

/** What a reader of the live view asks for. */
export type Topic =
  | { readonly kind: 'line' | 'dead_letters' }
  | { readonly kind: 'drops'; readonly filter: DropFilter };

const topicsMax = 8;

const topicOf = (text: string): Topic | undefined => {
  if (text === 'line' || text === 'dead_letters') return { kind: text };
  if (text === 'drops') return { kind: 'drops', filter: {} };
  const [, app, id] = /^drops:(app:)?(\d{1,15})$/.exec(text) ?? [];
  if (id === undefined) return undefined;
  return { kind: 'drops', filter: app === undefined ? { dataId: Number(id) } : { appId: Number(id) } };
};

/** The topics of `line,drops:1500001,drops:app:7,dead_letters`. Throws a permanent Fault `invalid_value`. */
export const parseTopics = (text: string): readonly Topic[] => {
  const names = [...new Set(text.split(','))];
  if (names.length > topicsMax)
    throw fieldFault('invalid_value', 'topics', `must have at most ${topicsMax} topics`);
  return names.map((name) => {
    const topic = topicOf(name);
    if (topic !== undefined) return topic;
    throw fieldFault(
      'invalid_value',
      'topics',
      'must be a list of line, drops, drops:<data_id>, drops:app:<app_id>, dead_letters, with commas',
    );
  });
};
