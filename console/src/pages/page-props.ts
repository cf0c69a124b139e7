/** What a page gets: the parts of the address behind its own path, for instance `['1500001', 'setup']` of a source. */
export type PageProps = { readonly rest: readonly string[] };
