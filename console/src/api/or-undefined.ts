/** A parameter or an optional field that is undefined is not sent. */
export type OrUndefined<T> = { readonly [K in keyof T]: object extends Pick<T, K> ? T[K] | undefined : T[K] };
