import { Fault } from '../model/fault.ts';

/** The Fault for a server that could not listen: it names the port and the variable that changes it. */
export const listenFault = (error: NodeJS.ErrnoException, port: number, variable: string): Fault => {
  if (error.code === 'EADDRINUSE') {
    return new Fault(
      'permanent',
      'port_in_use',
      `port ${port} is in use; set ${variable} to another one`,
      error,
    );
  }
  if (error.code === 'EACCES') {
    return new Fault(
      'permanent',
      'port_denied',
      `no permission to listen on port ${port}; set ${variable} to another one`,
      error,
    );
  }
  return new Fault('transient', 'listen_failed', `cannot listen on port ${port}: ${error.message}`, error);
};
