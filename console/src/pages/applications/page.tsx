import { applications } from '../owners/owner.ts';
import { ownersPage } from '../owners/pages.tsx';

export default ownersPage(applications);
