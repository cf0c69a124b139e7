import { Facts } from '../../parts/facts.tsx';
import './system.css';
import type { ComponentType } from 'preact';
import { Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Empty } from '../../parts/states.tsx';
import { LogOut } from '../../shell/log-out.tsx';
import { href } from '../../shell/router.ts';
import { useAllows, useSession } from '../../shell/session.ts';
import type { PageProps } from '../page-props.ts';
import { AccountDifferences } from './account.tsx';
import { AuditLog } from './audit.tsx';
import { Doctor } from './doctor.tsx';
import { ProcessList, Reasons, Settings } from './lists.tsx';
import { Refresh } from './refresh.tsx';
import { StoreList } from './stores.tsx';
import { Tokens } from './tokens.tsx';

/** The session of this browser, and the end of all sessions of its token. */
const Sessions = () => {
  const session = useSession();
  if (session == null) return null;
  return (
    <>
      <Facts
        of={{
          Token: (
            <>
              <Hostile text={session.name} max={80} /> (id {session.token_id})
            </>
          ),
          Role: session.role,
          Ends: (
            <>
              <Time at={session.expires_at} seconds />, and earlier after an hour without a request
            </>
          ),
        }}
      />
      <LogOut />
      <p class="quiet">
        All sessions that were begun with this token end, in every browser. The token itself stays valid.
      </p>
    </>
  );
};

type Tab = {
  readonly name: string;
  readonly title: string;
  readonly Body: ComponentType;
  readonly isForAdmins?: true;
};

const tabs: readonly Tab[] = [
  { name: 'doctor', title: 'Doctor', Body: Doctor },
  { name: 'stores', title: 'Stores', Body: StoreList },
  { name: 'processes', title: 'Processes', Body: ProcessList },
  { name: 'account', title: 'Account', Body: AccountDifferences },
  { name: 'refresh', title: 'Refresh job', Body: Refresh },
  { name: 'audit', title: 'Audit log', Body: AuditLog },
  { name: 'tokens', title: 'Admin tokens', Body: Tokens, isForAdmins: true },
  { name: 'settings', title: 'Settings', Body: Settings, isForAdmins: true },
  { name: 'reasons', title: 'Reasons', Body: Reasons },
  { name: 'sessions', title: 'Sessions', Body: Sessions },
];

/** What an operator looks after. Each tab is an address, and loads what it shows when it is opened. */
const Page = ({ rest: [name = 'doctor'] }: PageProps) => {
  const isAdmin = useAllows('admin');
  const offered = tabs.filter(({ isForAdmins }) => isForAdmins === undefined || isAdmin);
  const tab = offered.find((each) => each.name === name);
  return (
    <>
      <h1>System</h1>
      <ul class="system-tabs" aria-label="Parts of the system">
        {offered.map((each) => (
          <li key={each.name}>
            <a href={href(`/system/${each.name}`)} aria-current={each === tab ? 'page' : undefined}>
              {each.title}
            </a>
          </li>
        ))}
      </ul>
      {tab === undefined ? (
        <Empty>There is no such part, or your role may not see it.</Empty>
      ) : (
        <tab.Body key={tab.name} />
      )}
    </>
  );
};

export default Page;
