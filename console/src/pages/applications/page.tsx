import { OwnerList } from '../owners/list.tsx';
import { OwnerPage } from '../owners/one.tsx';
import { applications } from '../owners/owner.ts';
import type { PageProps } from '../page-props.ts';

const Page = ({ rest }: PageProps) =>
  rest.length === 0 ? <OwnerList kind={applications} /> : <OwnerPage kind={applications} rest={rest} />;

export default Page;
