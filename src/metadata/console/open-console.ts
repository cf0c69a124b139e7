import type { Bus } from '../../bus/connection.ts';
import type { Settings } from '../../config/settings.ts';
import { trustedProxiesOf } from '../../runtime/trusted-proxies.ts';
import type { Audit } from '../audit/audit.ts';
import type { AdminTokens } from '../tokens/admin-tokens.ts';
import { type Console, createConsole } from './console.ts';
import { readConsoleFiles } from './files.ts';
import { createSessions, openSessionStore } from './sessions.ts';

/** The console of these settings; undefined where it is off. Throws a permanent Fault for an unusable setting. */
export const openConsole = (
  settings: Settings,
  {
    bus,
    adminTokens,
    audit,
  }: { readonly bus: Bus; readonly adminTokens: AdminTokens; readonly audit: Audit },
): Console | undefined => {
  if (!settings.hasConsole) return undefined;
  const proxies = settings.metadata.trustedProxies;
  return createConsole({
    sessions: createSessions(openSessionStore(bus), adminTokens),
    adminTokens,
    audit,
    files: readConsoleFiles(settings.consoleFolder),
    trustedProxies: trustedProxiesOf('TIDEMARK_METADATA_TRUSTED_PROXIES', proxies),
    links: {
      grafana: settings.links.grafana ?? null,
      questdb: settings.links.questdb ?? null,
      clickhouse: settings.links.clickhouse ?? null,
    },
  });
};
