/** The result of a service that has more than a value: the version of a row, and the ignored inputs. */

/**
 * The result of a service whose value is a row with a version, or that may ignore inputs because of a rule. Other services return the
 * plain value. Over HTTP, `answering` (http/procedures/trpc.ts) sends `value` as the body and the other properties as headers; jobs,
 * scripts and services read the properties.
 */
export interface Answer<T> {
  value: T
  /** The version of the row that `value` shows; sent as the ETag. */
  version?: number
  /** Names of the inputs that a rule of api.md made the service ignore; sent as X-Ignored. */
  ignored?: readonly string[]
  /** The titles in conditions that no option has, as `field=title`; sent as X-Unknown-Options. */
  unknownOptions?: readonly string[]
}

/** The versions that the caller accepts for the row; undefined accepts any version. */
export type IfMatch = readonly number[] | undefined

/** True if the row has another version than those of If-Match. */
export const isStale = (ifMatch: IfMatch, { version }: { version: number }): boolean => ifMatch !== undefined && !ifMatch.includes(version)
