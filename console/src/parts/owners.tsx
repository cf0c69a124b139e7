import { href } from '../shell/router.ts';
import { plainText } from './plain-text.ts';

/** Whose items they are; 0 and null stand for nobody. */
export type Owned = { readonly data_id?: number | null; readonly app_id?: number | null };

/** `data_id` or `app_id` of `1500001` or `app:3`, nothing for all owners; undefined for a text that cannot be read. */
export const ownerQuery = (owner: string): { data_id?: number; app_id?: number } | undefined => {
  const [, app, id] = /^(app:)?([1-9]\d{0,14})$/.exec(owner) ?? [];
  if (id === undefined) return owner === '' ? {} : undefined;
  return app === undefined ? { data_id: Number(id) } : { app_id: Number(id) };
};

/** The same of an item: the form in which the address names an owner; empty without one. */
export const ownerText = (of: Owned): string =>
  of.data_id ? String(of.data_id) : of.app_id ? `app:${of.app_id}` : '';

/** `data id 1500001`, `application 3`. */
export const ownerName = (owner: string): string =>
  owner.startsWith('app:') ? `application ${plainText(owner.slice(4))}` : `data id ${plainText(owner)}`;

/** The page of the owner under /console. */
export const ownerPath = (owner: string): string =>
  owner.startsWith('app:') ? `/applications/${owner.slice(4)}` : `/sources/${owner}`;

/** The data id or application that items belong to, as a link to its page; `none`: what is said where there is no owner. */
export const OwnerLink = ({ of, none }: { of: Owned; none: string }) => {
  const owner = ownerText(of);
  if (owner === '') return <span>{none}</span>;
  return (
    <a class="figure" href={href(ownerPath(owner))}>
      {ownerName(owner)}
    </a>
  );
};
