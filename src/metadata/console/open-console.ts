import type { Bus } from '../../bus/connection.ts';
import type { Settings } from '../../config/settings.ts';
import { localPeersOf } from '../../runtime/local-peers.ts';
import { trustedProxiesOf } from '../../runtime/trusted-proxies.ts';
import type { Log } from '../../telemetry/log.ts';
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
    log,
  }: { readonly bus: Bus; readonly adminTokens: AdminTokens; readonly audit: Audit; readonly log: Log },
): Console | undefined => {
  if (!settings.hasConsole) return undefined;
  const { metadata, consoleLocalPeers, links } = settings;
  return createConsole({
    sessions: createSessions(openSessionStore(bus), adminTokens),
    adminTokens,
    audit,
    files: readConsoleFiles(settings.consoleFolder),
    peers: {
      proxies: trustedProxiesOf('TIDEMARK_METADATA_TRUSTED_PROXIES', metadata.trustedProxies),
      local: localPeersOf(consoleLocalPeers ?? '', (text) => log.warn({}, text)),
    },
    links: {
      grafana: links.grafana ?? null,
      questdb: links.questdb ?? null,
      clickhouse: links.clickhouse ?? null,
    },
  });
};
