import type { PageProps } from '../page-props.ts';
import { OwnerList } from './list.tsx';
import { OwnerPage } from './one.tsx';
import { applications, type Kind, sources } from './owner.ts';

/** The page of all owners of a kind, and of one of them. */
const pageOf =
  (kind: Kind) =>
  ({ rest }: PageProps) =>
    rest.length === 0 ? <OwnerList kind={kind} /> : <OwnerPage kind={kind} rest={rest} />;

export const Sources = pageOf(sources);
export const Applications = pageOf(applications);
