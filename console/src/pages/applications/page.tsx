import { OwnerList } from '../owners/list.tsx';
import { OwnerPage } from '../owners/one.tsx';
import { applications } from '../owners/owner.ts';

const Page = ({ rest }: { readonly rest: readonly string[] }) =>
  rest.length === 0 ? <OwnerList kind={applications} /> : <OwnerPage kind={applications} rest={rest} />;

export default Page;
