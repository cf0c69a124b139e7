import { OwnerList } from '../owners/list.tsx';
import { OwnerPage } from '../owners/one.tsx';
import { sources } from '../owners/owner.ts';

const Page = ({ rest }: { readonly rest: readonly string[] }) =>
  rest.length === 0 ? <OwnerList kind={sources} /> : <OwnerPage kind={sources} rest={rest} />;

export default Page;
