import { OwnerList } from '../owners/list.tsx';
import { OwnerPage } from '../owners/one.tsx';
import { sources } from '../owners/owner.ts';
import type { PageProps } from '../page-props.ts';

const Page = ({ rest }: PageProps) =>
  rest.length === 0 ? <OwnerList kind={sources} /> : <OwnerPage kind={sources} rest={rest} />;

export default Page;
