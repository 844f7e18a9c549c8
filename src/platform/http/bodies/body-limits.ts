/** How large bodies of JSON may be. */

const MB = 1_048_576

/** The maximum size of a JSON body in bytes, unless a procedure sets another (contract.md §1). */
export const BODY_LIMIT = MB

/** The maximum size of a JSON body with a batch, in bytes. */
export const BATCH_BODY_LIMIT = 10 * MB
