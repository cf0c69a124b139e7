import { oneLine } from '../model/text-forms.ts';
import { firstCauseText, type TlsTrouble, tlsTroubleOf } from '../model/tls-trouble.ts';

const textMax = 400;

/** An answer that is no answer of the store, on one line: of a page of HTML, as a proxy sends one, its title alone. */
export const answerText = (text: string, lengthMax: number): string => {
  const line = oneLine(text, textMax);
  const lower = line.toLowerCase();
  if (!lower.startsWith('<!doctype') && !lower.startsWith('<html')) return oneLine(text, lengthMax);
  const [, afterTitle = ''] = line.split('<title>');
  const title = afterTitle.split('<')[0]?.trim() ?? '';
  return title === '' ? 'a page of HTML' : oneLine(`a page of HTML: ${title}`, lengthMax);
};

const remedies: Readonly<Record<TlsTrouble, string>> = {
  untrusted:
    ': name a file with the certificate of its authority in NODE_EXTRA_CA_CERTS, and restart the process',
  plain: ': the port speaks no TLS, so begin the address with http://',
  certificate: '',
  cut: '',
};

/** The remedy where TLS explains why a server did not answer, with the colon before it; else the empty text. */
export const tlsRemedy = (error: unknown): string => {
  const trouble = tlsTroubleOf(error);
  return trouble === undefined ? '' : remedies[trouble];
};

/** Why a store did not answer, on one line, with the remedy where TLS explains it. */
export const noAnswerText = (error: unknown): string =>
  `${answerText(firstCauseText(error), textMax)}${tlsRemedy(error)}`;
