/** Where to read about these reasons, as the end of a message: `; see <address>`. Empty where no address is set. */
export type ReasonLinks = (reasons: Iterable<string>) => string;

export const noLinks: ReasonLinks = () => '';

const linksMax = 3;

/** `docsUrl`: the address of the published docs/reasons.md, which has an anchor for each code (TIDEMARK_DOCS_URL). */
export const createReasonLinks = (docsUrl: string | undefined): ReasonLinks => {
  if (docsUrl === undefined) return noLinks;
  return (reasons) => {
    const links = [...new Set(reasons)].slice(0, linksMax).map((reason) => `${docsUrl}#${reason}`);
    return links.length === 0 ? '' : `; see ${links.join(', ')}`;
  };
};
