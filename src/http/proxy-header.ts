const signatures: readonly Buffer[] = [Buffer.from('PROXY '), Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')];

/** Whether the first bytes of a connection are a header of the PROXY protocol, version 1 or 2, which no port reads. */
export const isProxyHeader = (first: Buffer | undefined): boolean =>
  signatures.some((signature) => first?.subarray(0, signature.length).equals(signature) === true);

/** The text for the client behind such a proxy. */
export const proxyHeaderText =
  'the connection begins with a header of the PROXY protocol, which this port does not take: switch it off in the proxy (HAProxy send-proxy, nginx proxy_protocol); addresses of clients come from X-Forwarded-For';
