import { useEffect, useState } from 'preact/hooks';
import { type Resource, useLoad } from '../../api/use.ts';
import type { Kind, Owners } from './owner.ts';

const typingMs = 300;

/** The owners of a kind. Where they are more than a list has, metadata searches all of them while the reader types. */
export const useOwners = (
  kind: Kind,
  search: string,
  everyMs?: number,
): Resource<Owners> & { readonly isMany: boolean } => {
  const [asked, setAsked] = useState('');
  const [isMany, setIsMany] = useState(false);
  const loaded = useLoad(`${kind.path} ${asked}`, (signal) => kind.list(signal, asked), everyMs);
  const isCut = loaded.data?.isCut === true;
  useEffect(() => {
    if (isCut) setIsMany(true);
  }, [isCut]);
  useEffect(() => {
    if (!isMany) return;
    const timer = setTimeout(() => setAsked(search.trim()), typingMs);
    return () => clearTimeout(timer);
  }, [search, isMany]);
  return { ...loaded, isMany };
};
