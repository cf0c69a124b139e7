import './system.css';
import type { ComponentType } from 'preact';
import { Facts } from '../../parts/facts.tsx';
import { Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Empty } from '../../parts/states.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { LogOut } from '../../shell/log-out.tsx';
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
  readonly path: string;
  readonly title: string;
  readonly Body: ComponentType;
  readonly isForAdmins?: true;
};

const tabs: readonly Tab[] = [
  { path: 'doctor', title: 'Doctor', Body: Doctor },
  { path: 'stores', title: 'Stores', Body: StoreList },
  { path: 'processes', title: 'Processes', Body: ProcessList },
  { path: 'account', title: 'Account', Body: AccountDifferences },
  { path: 'refresh', title: 'Refresh job', Body: Refresh },
  { path: 'audit', title: 'Audit log', Body: AuditLog },
  { path: 'tokens', title: 'Admin tokens', Body: Tokens, isForAdmins: true },
  { path: 'settings', title: 'Settings', Body: Settings, isForAdmins: true },
  { path: 'reasons', title: 'Reasons', Body: Reasons },
  { path: 'sessions', title: 'Sessions', Body: Sessions },
];

/** What an operator looks after. Each tab is an address, and loads what it shows when it is opened. */
const Page = ({ rest: [path = 'doctor'] }: PageProps) => {
  const isAdmin = useAllows('admin');
  const offered = tabs.filter(({ isForAdmins }) => isForAdmins === undefined || isAdmin);
  const tab = offered.find((each) => each.path === path);
  return (
    <>
      <h1>System</h1>
      <Tabs label="Parts of the system" base="/system" tabs={offered} current={tab?.path} />
      {tab === undefined ? (
        <Empty>There is no such part, or your role may not see it.</Empty>
      ) : (
        <tab.Body key={tab.path} />
      )}
    </>
  );
};

export default Page;
