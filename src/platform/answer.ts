/** How a service says more than a value: the version of a row, and the inputs that it ignored. */

/**
 * What a service returns when its value is a row with a version, or when a rule may make it ignore inputs. A service with neither
 * returns the plain value. Over HTTP, `answering` (http/trpc.ts) sends `value` as the body and the rest as headers; jobs, scripts and
 * other services read the properties.
 */
export interface Answer<T> {
  value: T
  /** The version of the row that `value` shows; sent as the ETag. */
  version?: number
  /** Names of the inputs that a rule of api.md made the service ignore; sent as X-Ignored. */
  ignored?: readonly string[]
}

/** The versions that the caller expects the row to have, one of which is enough; undefined to update whatever version is there. */
export type IfMatch = readonly number[] | undefined

/** Whether the row has none of the expected versions. */
export const isStale = (ifMatch: IfMatch, { version }: { version: number }): boolean => ifMatch !== undefined && !ifMatch.includes(version)
