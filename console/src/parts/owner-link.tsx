import { href } from '../shell/router.ts';
import { type Owned, ownerName, ownerPath, ownerText } from './owners.ts';

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
